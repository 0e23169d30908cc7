import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { HolderInfo } from '../../lock/index.ts';

/** The nearest holder that is an ancestor of this process. Only on Linux beyond the parent. */
export function ancestorAmong<Holder extends HolderInfo>(
  holders: readonly Holder[],
): Holder | undefined {
  const here = holders.filter(({ host }) => host === hostname());
  for (let pid = process.ppid; pid > 1 && here.length > 0; pid = parentOf(pid)) {
    const found = here.find((holder) => holder.pid === pid);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** 0 if unknown. The name of the process stands in parentheses, and may contain some itself. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
