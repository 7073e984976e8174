// The page of klab step --page: asks for the state of the learner's file and shows it.
'use strict';
addEventListener('DOMContentLoaded', () => {
  const at = id => document.getElementById(id);
  const make = (tag, text, style) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (style) element.className = style;
    return element;
  };
  const root = location.pathname.split('/').slice(0, 2).join('/') + '/';  // with the token
  let version = -1, traced = -1, unfolded = true;

  const answer = a => {
    at('verdict').textContent = `Your file: ${a.outcome}`;
    at('verdict').className = a.good ? 'good' : 'bad';
    at('questions').replaceChildren(...a.questions.flatMap(q => [
      make('span', `${q.question}: ${q.answer === null ? 'not known yet' : q.answer ? 'yes' : 'no'}`,
           q.answer === null ? 'dim' : q.answer ? 'good' : 'bad'), document.createTextNode('   ')]));
    at('said').replaceChildren(make('pre', a.said));
    at('counted').replaceChildren();
    if (a.counts.length === 0) return;
    const table = document.createElement('table'), head = table.createTHead().insertRow(), body = table.createTBody();
    for (const name of ['a run', 'parent', 'yours', 'goal']) head.append(make('th', name, name === 'a run' ? '' : 'n'));
    for (const line of a.counts) {
      const row = body.insertRow();
      row.append(make('td', line.name), make('td', line.parent.toLocaleString('en'), 'n'),
                 make('td', line.yours.toLocaleString('en'), 'n ' + (line.bad ? 'bad' : line.good ? 'good' : '')),
                 make('td', line.goal.toLocaleString('en'), 'n'));
    }
    at('counted').append(table, make('p', `Counted at ${a.counted_at}.`, 'note'));
  };

  // The trace is a page of its own; its style stays inside.
  const trace = async state => {
    const place = at('traced');
    if (state.trace === null) {
      place.replaceChildren(make('p', state.no_trace, 'note'));
      traced = -1;
      return;
    }
    if (state.trace === traced) return;
    const page = new DOMParser().parseFromString(await (await fetch(root + 'trace')).text(), 'text/html');
    const host = document.createElement('div'), inside = host.attachShadow({mode: 'open'});
    inside.append(...page.querySelectorAll('style'),
                  ...[...page.body.children].filter(e => !['SCRIPT', 'FOOTER', 'H1'].includes(e.tagName)));
    const fold = document.createElement('details');
    fold.open = unfolded;
    fold.addEventListener('toggle', () => { unfolded = fold.open; });
    fold.append(make('summary', 'Trace of your file'), host);
    place.replaceChildren(fold);
    traced = state.trace;
  };

  const poll = async () => {
    try {
      const state = await (await fetch(root + 'state')).json();
      at('doing').textContent = state.doing;
      if (state.version !== version && state.answer !== null) answer(state.answer);
      await trace(state);
      version = state.version;
    } catch {
      at('doing').textContent = 'klab step --page has ended';
    }
    setTimeout(poll, document.hidden ? 3000 : 500);
  };
  poll();
});
