import type { Paint, Style } from '../console/paint.ts';
import { fitText, shorten, widthOf } from '../lab/text-width.ts';

/** A table with a head and aligned columns, cut to a width if one is given. */
export function textTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): TextTable {
  const fields = fitFields(columns, rows, width);
  const head = fields.map(({ column, width }) => fitCell(column.title, column, width));
  return {
    head: paint('faint', shorten(head.join(GAP).trimEnd(), width)),
    lines: rows.map((row, index) => lineOf(row, index, fields, paint, width)),
  };
}

export interface TextTable {
  readonly head: string;
  readonly lines: readonly string[];
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Aligns the cells at the right. */
  readonly isNumber?: true;
  /** The cells may be cut to this width. */
  readonly minWidth?: number;
  /** Left out if it does not fit. */
  readonly isOptional?: true;
  readonly style?: (row: Row) => Style | undefined;
}

const GAP = '  ';

/** A column with its texts and the width that it gets. */
interface Field<Row> {
  readonly column: Column<Row>;
  readonly texts: readonly string[];
  width: number;
}

function fitFields<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): Field<Row>[] {
  const all = columns.map((column) => fieldOf(column, rows));
  const least = all.map((field) => Math.min(field.width, field.column.minWidth ?? field.width));
  const fields = totalWidth(least) > width ? all.filter(({ column }) => !column.isOptional) : all;
  // The widest of the columns that may be cut is cut first.
  while (totalWidth(fields.map((field) => field.width)) > width) {
    const widest = fields
      .filter((field) => field.width > (field.column.minWidth ?? field.width))
      .reduce<Field<Row> | undefined>(
        (one, other) => (one && one.width >= other.width ? one : other),
        undefined,
      );
    if (widest === undefined) break;
    widest.width--;
  }
  return fields;
}

function fieldOf<Row>(column: Column<Row>, rows: readonly Row[]): Field<Row> {
  const texts = rows.map(column.cell);
  const width = texts.reduce((most, text) => Math.max(most, widthOf(text)), column.title.length);
  return { column, texts, width };
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
}

function fitCell<Row>(text: string, { isNumber }: Column<Row>, width: number): string {
  return isNumber ? text.padStart(width) : fitText(text, width);
}

/** Colours have no width, and so come last; a line that is too long all the same does without. */
function lineOf<Row>(
  row: Row,
  index: number,
  fields: readonly Field<Row>[],
  paint: Paint,
  width: number,
): string {
  const cells = fields.map((field) => fitCell(field.texts[index]!, field.column, field.width));
  const plain = cells.join(GAP).trimEnd();
  if (widthOf(plain) > width) return shorten(plain, width);
  const painted = fields.map(({ column }, at) => {
    const style = column.style?.(row);
    return style === undefined ? cells[at]! : paint(style, cells[at]!);
  });
  return painted.join(GAP).trimEnd();
}
