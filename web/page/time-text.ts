const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** A duration in whole units, at most two of them: `3 s`, `2 min 05 s`, `1 d 4 h`. Negative ones are 0. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000)) * 1000;
  const index = UNITS.findIndex(([, unitMs]) => seconds >= unitMs);
  if (index === -1) return '0 s';
  const [unit, unitMs] = UNITS[index]!;
  const whole = Math.floor(seconds / unitMs);
  const next = UNITS[index + 1];
  if (next === undefined) return `${whole} ${unit}`;
  const rest = Math.floor((seconds % unitMs) / next[1]);
  return `${whole} ${unit} ${String(rest).padStart(2, '0')} ${next[0]}`;
}

/** A measured duration with two significant digits below 10 s: `0.4 ms`, `35 ms`, `1.3 s`, then as `durationText`. */
export function measureText(ms: number): string {
  if (ms >= 10_000) return durationText(ms);
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 10 || Number.isInteger(ms)) return `${Math.round(ms)} ms`;
  return `${ms.toFixed(1)} ms`;
}

/** The time of day in the zone of the browser: `14:03:07`. */
export function clockText(atMs: number): string {
  const at = new Date(atMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(':');
}

/** The time of day without seconds. */
export function minuteText(atMs: number): string {
  return clockText(atMs).slice(0, 5);
}

/** `1.5 MB`. Binary units, as INFO of the server prints them. */
export function bytesText(bytes: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < names.length - 1) {
    value /= 1024;
    index++;
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${names[index]}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
