// The site: contents unfold where there is room, and the search. Pages read the same without it.
'use strict';
if (matchMedia('(min-width: 901px)').matches)
  for (const contents of document.querySelectorAll('aside.contents details')) contents.open = true;

// A link to something that lies in a folded answer unfolds it.
function unfold() {
  let at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const target = at;
  for (; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  if (target) target.scrollIntoView();
}
addEventListener('hashchange', unfold);
if (location.hash.length > 1) unfold();

// Places that hold every word, best first: a word in a heading counts more than in the text, and so does the whole query.
function search(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [], whole = words.join(' '), one = whole.replace(/s$/, '');
  if (words.length === 0) return found;
  for (const [address, page, heading, text] of index) {
    const head = (page + ' ' + heading).toLowerCase(), body = text.toLowerCase();
    let score = 0;
    for (const word of words) {
      const inHead = head.includes(word.length > 3 ? word.replace(/s$/, '') : word), times = body.split(word).length - 1;
      if (!inHead && times === 0) { score = 0; break; }
      score += (inHead ? 20 : 0) + Math.min(times, 10);
    }
    if (score > 0 && heading.toLowerCase() === one) score += 100;  // the entry of a word
    if (score > 0 && words.length > 1 && (head.includes(whole) || body.includes(whole))) score += 30;
    if (score > 0) found.push({address, page, heading, text, score});
  }
  return found.sort((a, b) => b.score - a.score);
}

// The text around the first word, with the words marked.
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.max(0, Math.min(...words.map(w => lower.indexOf(w)).filter(at => at >= 0), text.length) - 70);
  const piece = (first > 0 ? '… ' : '') + text.slice(first, first + 220) + (first + 220 < text.length ? ' …' : '');
  const said = document.createElement('div');
  said.className = 'said';
  let rest = piece;
  while (rest.length > 0) {
    const places = words.map(w => [rest.toLowerCase().indexOf(w), w.length]).filter(([at]) => at >= 0);
    if (places.length === 0) break;
    const [at, length] = places.reduce((a, b) => (b[0] < a[0] ? b : a));
    const mark = document.createElement('mark');
    mark.textContent = rest.slice(at, at + length);
    said.append(rest.slice(0, at), mark);
    rest = rest.slice(at + length);
  }
  said.append(rest);
  return said;
}

const list = document.getElementById('found');
if (list && typeof klabIndex !== 'undefined') {
  const input = document.getElementById('query'), count = document.getElementById('count');
  const most = 60;
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = search(klabIndex, input.value);
    list.replaceChildren(...found.slice(0, most).map(({address, page, heading, text}) => {
      const item = document.createElement('li'), link = document.createElement('a');
      link.href = address;
      link.textContent = heading && heading !== page ? `${page}: ${heading}` : page;
      item.append(link, excerpt(text, words));
      return item;
    }));
    count.textContent = words.length === 0 ? '' : `${found.length} place${found.length === 1 ? '' : 's'}` +
      (found.length > most ? `, the first ${most} are shown` : '');
  };
  input.value = new URLSearchParams(location.search).get('q') ?? '';
  input.addEventListener('input', show);
  show();
}
