/** One metric, in the terms of the text format of Prometheus. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** Follows the name of the family, as `_bucket` of a histogram does. Default: none. */
  readonly suffix?: string;
  readonly labels: Labels;
  readonly value: number;
}

export type Labels = Readonly<Record<string, string>>;

/** The text that Prometheus reads from `/metrics`. A family without samples is left out. */
export function exposition(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(familyText)
    .join('');
}

/** The samples of a histogram: `counts` are those of each bucket, the last one without a bound. */
export function histogramSamples(
  labels: Labels,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): Sample[] {
  let count = 0;
  const buckets = counts.map((each, at) => {
    count += each;
    const le = numberText(bounds[at] ?? Number.POSITIVE_INFINITY);
    return { suffix: '_bucket', labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ];
}

function familyText({ name, type, help, samples }: MetricFamily): string {
  const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  const lines = samples.map(({ suffix = '', labels, value }) => {
    return `${name}${suffix}${labelsText(labels)} ${numberText(value)}\n`;
  });
  return head + lines.join('');
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/**
 * A lone half of a surrogate pair is not UTF-8, and Prometheus takes NUL for the end of the text and rejects all of it:
 * both become U+FFFD.
 */
function escapeLabel(text: string): string {
  const escaped = escapeHelp(text).replaceAll('"', '\\"').replaceAll('\0', '\ufffd');
  return Buffer.from(escaped, 'utf8').toString('utf8');
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
