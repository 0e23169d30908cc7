import { expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import { readFacts } from './facts.ts';

it.each([['abc'], [''], ['1e9'], [['1']]])(
  'refuses a time of the server that is %j',
  async (time) => {
    const section = ['', ''];
    const run = async (text: string) =>
      text.includes('TIME') ? time : [section, section, section];
    await expect(readFacts(run, virtualClock())).rejects.toThrow('the time is no number');
  },
);
