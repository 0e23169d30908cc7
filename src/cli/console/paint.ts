import type { Io } from '../verb.ts';

export type Style = keyof typeof STYLES;

/** Adds the colour of a style to a text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

const STYLES = { error: '31', good: '32', fault: '33', faint: '2', strong: '1' } as const;

export const PLAIN: Paint = (_style, text) => text;

const COLOURED: Paint = (style, text) => `\x1b[${STYLES[style]}m${text}\x1b[0m`;

/** Colours on a terminal, unless --no-color, NO_COLOR or TERM=dumb is set. */
export function choosePaint({ output, environment }: Io, isPlain = false): Paint {
  if (isPlain || environment.NO_COLOR || environment.TERM === 'dumb') return PLAIN;
  return output.isTTY ? COLOURED : PLAIN;
}
