/**
 * Parses bytes with an optional unit: `k` is 1000 and `kb` is 1024. As in Redis, a unit without digits is 0. Returns
 * undefined for any other text.
 */
export function parseMemorySize(text: string): bigint | undefined {
  const [, digits, unit] = MEMORY.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return BigInt(digits) * BigInt(UNIT_BYTES[unit!.toLowerCase() as keyof typeof UNIT_BYTES]);
}

const UNIT_BYTES = {
  '': 1,
  b: 1,
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  mb: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
} as const;
/** Redis accepts at most 127 digits. */
const MEMORY = /^(\d{0,127})(|b|k|kb|m|mb|g|gb)$/i;
