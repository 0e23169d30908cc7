import { describe, expect, it } from 'vitest';
import { lower, printed, upper } from './text.ts';

describe('upper and lower', () => {
  it('fold ASCII letters only', () => {
    expect(upper('get\xe9\xdf')).toBe('GET\xe9\xdf');
    expect(lower('GET\xc9')).toBe('get\xc9');
  });

  it('fold 1024 bytes and return a longer text unchanged', () => {
    expect(upper('a'.repeat(1024))).toBe('A'.repeat(1024));
    expect(upper('a'.repeat(1025))).toBe('a'.repeat(1025));
    expect(lower('A'.repeat(1025))).toBe('A'.repeat(1025));
  });
});

describe('printed', () => {
  it('ends at the first NUL byte', () => {
    expect(printed('ab\0cd')).toBe('ab');
  });

  it('cuts at 128 bytes', () => {
    expect(printed('a'.repeat(1000))).toBe('a'.repeat(128));
  });
});
