/** Where the clients are in the code: the line of the current step, and the last line of each client. */
export interface LineMarks {
  readonly current: number | null;
  /** The index of the client whose step it is. */
  readonly client: number;
  readonly clients: ReadonlyMap<number, readonly number[]>;
}

/** Code with numbered lines. The line of the current step is marked. */
export function Listing({
  code,
  marks,
  label,
}: {
  readonly code: string;
  readonly marks: LineMarks;
  readonly label: string;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <ol class="listing" aria-label={label} tabIndex={0}>
      {code.split('\n').map((line, at) => (
        <ListingLine key={at} number={at + 1} line={line} marks={marks} />
      ))}
    </ol>
  );
}

function ListingLine({
  number,
  line,
  marks,
}: {
  readonly number: number;
  readonly line: string;
  readonly marks: LineMarks;
}) {
  const isNow = marks.current === number;
  return (
    <li
      class={isNow ? `now c${marks.client}` : undefined}
      aria-current={isNow ? 'step' : undefined}
    >
      <code>{line === '' ? ' ' : line}</code>
      <span class="visitors" aria-hidden="true">
        {(marks.clients.get(number) ?? []).map((client) => (
          <b key={client} class={`c${client}`}>
            {String.fromCharCode(65 + client)}
          </b>
        ))}
      </span>
    </li>
  );
}
