import { expect, it } from 'vitest';
import { bytesText, durationText, measureText } from './time-text.ts';

it.each([
  [-5000, '0 s'],
  [999, '0 s'],
  [1000, '1 s'],
  [59_999, '59 s'],
  [60_000, '1 min 00 s'],
  [125_000, '2 min 05 s'],
  [3_600_000, '1 h 00 min'],
  [90_000_000, '1 d 01 h'],
])('shows a duration of %i ms as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [0, '0 ms'],
  [0.42, '0.4 ms'],
  [7, '7 ms'],
  [35.4, '35 ms'],
  [1300, '1.3 s'],
  [12_600, '12 s'],
])('shows a measured time of %d ms as %s', (ms, text) => {
  expect(measureText(ms)).toBe(text);
});

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 kB'],
  [268_435_456, '256 MB'],
])('shows %i bytes as %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
