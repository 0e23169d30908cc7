/** A part of a text: as it is, or an escape that stands for a character that cannot be seen. */
export interface TextPart {
  readonly text: string;
  readonly isEscape: boolean;
}

/** Control, format and ignorable characters, among them all that turn the direction of text, and lone surrogates. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Splits a text that a stranger may have chosen into parts that can be shown: unseen characters become escapes such as
 * `\u{202e}`, so that no two different names look the same for their sake.
 */
export function visibleParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index), isEscape: false });
    parts.push({ text: escapeOf(match[0]), isEscape: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isEscape: false });
  return parts;
}

/** The same as one text, for attributes. */
export function visibleText(text: string): string {
  return text.replaceAll(UNSEEN, escapeOf);
}

/** The name of a lock as it is shown: an empty one as a pair of quotes. */
export function lockName(name: string): string {
  return name === '' ? '""' : name;
}

/** A text with at most `max` characters, the last one `…` if it was longer. */
export function cutText(text: string, max: number): string {
  // A character takes at most two code units, so a long text need not be split as a whole.
  const characters = [...text.slice(0, 2 * max + 2)];
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : text;
}

/**
 * Keeps text that runs from right to left from turning the words around it. Only such text is changed, by two marks
 * that cannot be seen.
 */
export function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

const SHORT = new Map([
  ['\0', '\\0'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\u001b', '\\e'],
]);

function escapeOf(character: string): string {
  return SHORT.get(character) ?? `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
