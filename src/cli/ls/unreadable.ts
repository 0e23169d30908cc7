import type { Unreadable } from '../../stores/index.ts';
import { textOf } from '../bytes.ts';
import { messageText, printable } from '../printable.ts';
import { counted } from './words.ts';

/** The number of unreadable locks or keys, as a sentence; empty if there are none. */
export function unreadableText(
  { unreadableCount, failureBytes }: Unreadable,
  noun: 'key' | 'lock',
  pattern: string,
): string {
  if (unreadableCount === 0) return '';
  const verb = unreadableCount === 1 ? 'matches' : 'match';
  const failure = messageText(textOf(failureBytes)).replace(/\.?$/, '.');
  return `${counted(unreadableCount, noun)} that ${verb} ${printable(pattern)} cannot be read: ${failure}`;
}
