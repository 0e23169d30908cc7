import type { Text } from '../index.ts';

/** A piece of HTML. Values in its template are escaped, unless they are `Html` themselves. */
export interface Html {
  readonly markup: string;
}

type Content = string | number | Html | readonly Html[];

export function html(literals: TemplateStringsArray, ...contents: readonly Content[]): Html {
  const parts = literals.map((literal, at) => {
    const content = contents[at];
    return content === undefined ? literal : literal + markupOf(content);
  });
  return { markup: parts.join('') };
}

/** Markup that is inserted without escaping. Only for text of this package, such as the page's script. */
export function verbatim(markup: string): Html {
  return { markup };
}

/** A text in both languages; the page shows one of them. */
export function both({ en, zh }: Text): Html {
  if (en === zh) return html`${en}`;
  return html`<span class="en" lang="en">${en}</span><span class="zh" lang="zh-CN">${zh}</span>`;
}

function markupOf(content: Content): string {
  if (typeof content === 'string' || typeof content === 'number')
    return escapeText(String(content));
  if ('markup' in content) return content.markup;
  return content.map(({ markup }) => markup).join('');
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char]!);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
