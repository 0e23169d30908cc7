/** The width of a text on a terminal: Chinese characters and punctuation take two columns. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += WIDE.test(char) ? 2 : 1;
  return width;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The text in exactly this width: filled with spaces, or cut with `…`. */
export function fitText(text: string, width: number): string {
  const short = shorten(text, width);
  return short + ' '.repeat(Math.max(width - widthOf(short), 0));
}

/** The text in at most this width. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let short = '';
  for (const char of text) {
    if (widthOf(short + char) > width - 1) break;
    short += char;
  }
  return `${short}…`;
}

/** A word in at most this width, cut in the middle: both ends distinguish a key or token. */
export function shortenWord(word: string, width: number): string {
  if (widthOf(word) <= width) return word;
  const chars = [...word];
  const endWidth = Math.floor((width - 1) / 2);
  const end = shorten(chars.toReversed().join(''), endWidth + 1).replace('…', '');
  return `${shorten(word, width - widthOf(end))}${[...end].toReversed().join('')}`;
}

/**
 * Lines of at most this width, if the pieces are no longer than that. A piece is a word with the space before it, or a
 * Chinese character with the punctuation after it, which must not begin a line.
 */
export function wrap(text: string, width: number, pieces = WORDS): string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of text.match(pieces) ?? []) {
    if (widthOf((line + piece).trimEnd()) > width && line !== '') {
      lines.push(line.trimEnd());
      line = piece.trimStart();
    } else line += piece;
  }
  return [...lines, line.trimEnd()];
}

const WORDS = /\p{Script=Han}[，。：；、！？）》”]*|\s*[^\s\p{Script=Han}]+|\s+/gu;
