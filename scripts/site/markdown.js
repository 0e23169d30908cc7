// Markdown to HTML, with an id for every heading as GitHub gives it, and the text of every section for the search.
import { Marked } from 'marked';

/** Returns `{ title, html, sections: [{ heading, id, text }], ids }`. `rewrite` changes each link. */
export function renderMarkdown(text, rewrite) {
  const headings = [];
  const ids = new Map();
  const renderer = {
    heading({ tokens, depth }) {
      const inner = this.parser.parseInline(tokens);
      const plain = plainText(inner);
      const id = idFor(plain, ids);
      headings.push({ depth, plain, id });
      const link = depth === 1 ? '' : ` <a class="anchor" href="#${id}" aria-label="#">#</a>`;
      return `<h${depth} id="${id}">${inner}${link}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      return `<a href="${escapeHtml(rewrite(href))}">${this.parser.parseInline(tokens)}</a>`;
    },
    code({ text: code, lang }) {
      const name = lang ? ` class="language-${escapeHtml(lang)}"` : '';
      return `<pre tabindex="0"><code${name}>${escapeHtml(code)}</code></pre>\n`;
    },
    table({ header, rows }) {
      const row = (cells, tag) =>
        `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
      // A header cell without text is none for a screen reader.
      const head = `<thead>${row(header, 'th').replaceAll('<th></th>', '<td></td>')}</thead>`;
      const body = `<tbody>${rows.map((cells) => row(cells, 'td')).join('\n')}</tbody>`;
      return `<div class="table" role="region" aria-label="${escapeHtml(headings.at(-1)?.plain ?? '')}" tabindex="0"><table>${head}${body}</table></div>\n`;
    },
  };
  const html = new Marked({ renderer }).parse(text);
  return {
    title: headings[0]?.plain ?? '',
    html,
    sections: sectionsOf(html, headings),
    ids: [...ids.keys()],
  };
}

export function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (char) => ESCAPES[char]);
}

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function plainText(html) {
  return html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** The id that GitHub gives a heading: lower case, without punctuation, with hyphens for spaces. */
function idFor(heading, ids) {
  const base = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
  const count = ids.get(base) ?? 0;
  ids.set(base, count + 1);
  if (count === 0) return base;
  ids.set(`${base}-${count}`, 1);
  return `${base}-${count}`;
}

function sectionsOf(html, headings) {
  const parts = html.split(/<h[1-6] id="[^"]*">/).slice(1);
  return headings.map(({ plain, id }, at) => ({
    heading: plain,
    id,
    text: plainText(parts[at].replace(/^.*?<\/h\d>/s, ''))
      .replace(/\s+/g, ' ')
      .trim(),
  }));
}
