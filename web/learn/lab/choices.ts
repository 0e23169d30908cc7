import type { Text } from '../../../src/lab/index.ts';

/** One choice of a schedule in words: `a`, `.`, `xa`… */
export function choiceText(label: string): Text {
  if (label === '.') return { en: 'time passes', zh: '时间流逝' };
  const name = label.at(-1)!.toUpperCase();
  return CHOICES[label.length === 1 ? '' : label[0]!]!(name);
}

/** The index of the client that a choice is about; -1 for the clock. */
export function choiceClient(label: string): number {
  return label === '.' ? -1 : label.charCodeAt(label.length - 1) - 97;
}

/** True for a choice that is a fault, and not a step of a client or of the clock. */
export function isFault(label: string): boolean {
  return label.length > 1 && !label.startsWith('w');
}

const CHOICES: Readonly<Record<string, (name: string) => Text>> = {
  '': (name) => ({ en: `${name}: next step`, zh: `${name} 走一步` }),
  x: (name) => ({ en: `${name} crashes`, zh: `${name} 崩溃` }),
  z: (name) => ({ en: `${name} is paused`, zh: `${name} 停顿` }),
  w: (name) => ({ en: `${name} resumes`, zh: `${name} 继续` }),
  l: (name) => ({ en: `${name}: step, reply lost`, zh: `${name} 走一步，回复丢失` }),
  '+': (name) => ({ en: `${name}’s clock is ahead`, zh: `${name} 的时钟快` }),
  '-': (name) => ({ en: `${name}’s clock is behind`, zh: `${name} 的时钟慢` }),
};
