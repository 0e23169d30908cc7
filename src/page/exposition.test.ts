import { expect, it } from 'vitest';
import { exposition, histogramSamples, type MetricFamily } from './exposition.ts';

function gauge(value: number, labels = {}): MetricFamily {
  return { name: 'size', type: 'gauge', help: 'The size.', samples: [{ labels, value }] };
}

const lastLine = (family: MetricFamily) => exposition([family]).trimEnd().split('\n').at(-1);

it('writes help, type and samples of each family', () => {
  const text = exposition([
    gauge(1),
    {
      name: 'things_total',
      type: 'counter',
      help: 'Things,\nall \\ of them.',
      samples: [
        { labels: { how: 'a', why: 'b' }, value: 2 },
        { labels: { how: 'c', why: 'd' }, value: 0.5 },
      ],
    },
  ]);
  expect(text).toBe(`# HELP size The size.
# TYPE size gauge
size 1
# HELP things_total Things,\\nall \\\\ of them.
# TYPE things_total counter
things_total{how="a",why="b"} 2
things_total{how="c",why="d"} 0.5
`);
});

it('leaves out a family without samples', () => {
  expect(exposition([{ ...gauge(1), samples: [] }])).toBe('');
});

it.each([
  ['quotes', 'a"b', 'a\\"b'],
  ['line ends', 'a\nb', 'a\\nb'],
  ['backslashes', '\\n"', '\\\\n\\"'],
  ['text that looks like another sample', '"} 1\nother 2', '\\"} 1\\nother 2'],
  ['carriage returns', 'a\rb', 'a\rb'],
  ['NUL, which ends the text for Prometheus', 'a\0b', 'a\ufffdb'],
  ['markup', '<img src=x>', '<img src=x>'],
  ['half of a surrogate pair', 'a\ud800b', 'a\ufffdb'],
  ['other scripts', '订单:\u202e', '订单:\u202e'],
])('writes %s in a label', (_, value, written) => {
  expect(lastLine(gauge(1, { group: value }))).toBe(`size{group="${written}"} 1`);
});

it.each([
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf'],
  [0, '0'],
  [-1.5, '-1.5'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [1e300, '1e+300'],
  [1e-7, '1e-7'],
])('writes the value %d', (value, written) => {
  expect(lastLine(gauge(value))).toBe(`size ${written}`);
});

it('makes the buckets of a histogram cumulative', () => {
  const samples = histogramSamples({ kind: 'mutex' }, [0.1, 1], [2, 0, 3], 9.5);
  expect(exposition([{ name: 'wait', type: 'histogram', help: 'Waits.', samples }])).toBe(
    `# HELP wait Waits.
# TYPE wait histogram
wait_bucket{kind="mutex",le="0.1"} 2
wait_bucket{kind="mutex",le="1"} 2
wait_bucket{kind="mutex",le="+Inf"} 5
wait_sum{kind="mutex"} 9.5
wait_count{kind="mutex"} 5
`,
  );
});
