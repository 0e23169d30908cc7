type Style = keyof typeof STYLES;

/** Gives a text the looks of a style, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

const STYLES = { error: '31', faint: '2', strong: '1' } as const;

export const PLAIN: Paint = (_style, text) => text;

export const COLOURED: Paint = (style, text) => `\x1b[${STYLES[style]}m${text}\x1b[0m`;
