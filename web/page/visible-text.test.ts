import { expect, it } from 'vitest';
import { cutText, isolated, visibleParts, visibleText } from './visible-text.ts';

it.each([
  ['order:17', 'order:17'],
  ['订单:17', '订单:17'],
  ['a\0b', 'a\\0b'],
  ['line\nbreak', 'line\\nbreak'],
  ['\u202egnp.exe', '\\u{202e}gnp.exe'],
  ['zero\u200bwidth', 'zero\\u{200b}width'],
  ['\u2066isolate\u2069', '\\u{2066}isolate\\u{2069}'],
  ['\ud800', '\\u{d800}'],
  ['tag\u{e0041}', 'tag\\u{e0041}'],
  ['soft\u00adhyphen', 'soft\\u{ad}hyphen'],
])('shows %j as %s', (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it('marks the escapes among the parts', () => {
  expect(visibleParts('a\0\0b')).toEqual([
    { text: 'a', isEscape: false },
    { text: '\\0', isEscape: true },
    { text: '\\0', isEscape: true },
    { text: 'b', isEscape: false },
  ]);
});

it('cuts by characters, not by halves of them', () => {
  expect(cutText('abc', 3)).toBe('abc');
  expect(cutText('abcd', 3)).toBe('ab…');
  expect(cutText('😀😀😀😀', 3)).toBe('😀😀…');
});

it('isolates text that runs from right to left, and no other', () => {
  expect(isolated('שלום')).toBe('\u2068שלום\u2069');
  expect(isolated('订单 order:17')).toBe('订单 order:17');
});
