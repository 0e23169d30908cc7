// Theme and search of the site's pages. Without it everything else works.
const root = document.body.dataset.root ?? '';
const dialog = document.getElementById('search');
const input = dialog.querySelector('input');
const results = document.getElementById('results');
const MAX_RESULTS = 30;
let index;

startTheme();
startSearch();
// The list of pages is open where it stands beside the content.
document.querySelector('.pages details').open = matchMedia('(min-width: 64rem)').matches;

function startTheme() {
  const button = document.getElementById('theme');
  apply(read());
  button.hidden = false;
  button.addEventListener('click', () => {
    const dark = read() ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    const next = dark === 'dark' ? 'light' : 'dark';
    apply(next);
    try {
      localStorage.setItem('holdfast-theme', next);
    } catch {
      // Forbidden: the page forgets.
    }
  });

  function read() {
    try {
      return localStorage.getItem('holdfast-theme') || null;
    } catch {
      return null;
    }
  }

  function apply(theme) {
    if (theme) document.documentElement.setAttribute('data-theme', theme);
  }
}

function startSearch() {
  const button = document.getElementById('search-open');
  button.hidden = false;
  button.addEventListener('click', open);
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    open();
  });
  input.addEventListener('input', show);
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  results.addEventListener('click', () => dialog.close());
}

async function open() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  index ??= await (await fetch(`${root}assets/search.json`)).json();
  show();
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 || index === undefined ? [] : search(words);
  results.replaceChildren(...found.map((entry) => item(entry, words)));
}

/** Sections that have all words, those with the words in their headings first. */
function search(words) {
  const scored = index
    .map((entry) => [score(entry, words), entry])
    .filter(([points]) => points > 0);
  scored.sort(([one], [other]) => other - one);
  return scored.slice(0, MAX_RESULTS).map(([, entry]) => entry);
}

function score([path, , title, heading, text], words) {
  let points = path.startsWith('docs/adr/') ? 0.5 : 1;
  for (const word of words) {
    const inHeading = heading.toLowerCase().includes(word) ? 8 : 0;
    const inTitle = title.toLowerCase().includes(word) ? 4 : 0;
    const inText = text.toLowerCase().includes(word) ? 1 : 0;
    if (inHeading + inTitle + inText === 0) return 0;
    points += inHeading + inTitle + inText;
  }
  const isOwnLanguage = path.includes('.zh-CN') === (document.documentElement.lang === 'zh-CN');
  return isOwnLanguage ? points * 2 : points;
}

function item([path, id, title, heading, text], words) {
  const link = document.createElement('a');
  link.href = `${root}${path}#${encodeURIComponent(id)}`;
  const name = document.createElement('b');
  name.textContent = title === heading ? title : `${title}: ${heading}`;
  const piece = document.createElement('span');
  const at = Math.max(text.toLowerCase().indexOf(words[0]) - 40, 0);
  piece.textContent = `${at > 0 ? '…' : ''}${text.slice(at, at + 140)}`;
  link.append(name, piece);
  const row = document.createElement('li');
  row.append(link);
  return row;
}
