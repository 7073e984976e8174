// Sorting by a click on a heading, filtering by what is typed, sliders between two pictures. The page reads the same without it.
'use strict';
document.documentElement.classList.add('scripted');
for (const figure of document.querySelectorAll('.compare')) {
  const pair = figure.querySelector('.pair'), slider = figure.querySelector('input');
  const show = () => pair.style.setProperty('--at', slider.value + '%');
  const follow = event => {
    if (!(event.buttons & 1)) return;
    const box = pair.getBoundingClientRect();
    slider.value = 100 * (event.clientX - box.left) / box.width;
    show();
  };
  slider.addEventListener('input', show);
  pair.addEventListener('pointerdown', event => { pair.setPointerCapture(event.pointerId); follow(event); });
  pair.addEventListener('pointermove', follow);
  pair.addEventListener('dragstart', event => event.preventDefault());
  show();
}
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  table.querySelectorAll('th').forEach((head, column) => {
    head.dataset.sort = '';
    head.tabIndex = 0;
    const sort = () => {
      const down = head.classList.contains('up');
      table.querySelectorAll('th').forEach(h => h.classList.remove('up', 'down'));
      head.classList.add(down ? 'down' : 'up');
      const value = row => {
        const cell = row.cells[column];
        const number = parseFloat(cell.dataset.v ?? cell.textContent);
        return Number.isNaN(number) ? cell.textContent : number;
      };
      const rows = [...body.rows].map((row, place) => ({row, place, value: value(row)}));
      rows.sort((a, b) => {
        if (typeof a.value !== typeof b.value) return typeof a.value === 'number' ? -1 : 1;
        const order = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
        return (down ? -order : order) || a.place - b.place;
      });
      body.append(...rows.map(r => r.row));
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
}
for (const input of document.querySelectorAll('.filter input')) {
  const table = document.getElementById(input.dataset.table);
  const count = input.parentElement.querySelector('.count');
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
  };
  input.addEventListener('input', filter);
  filter();
}
