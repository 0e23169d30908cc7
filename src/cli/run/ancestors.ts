import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { HolderInfo } from '../../lock/index.ts';

/** The first of them that is an ancestor of this process. Only Linux tells; elsewhere, its parent at most. */
export function ancestorAmong<Who extends HolderInfo>(holders: readonly Who[]): Who | undefined {
  const here = holders.filter(({ host }) => host === hostname());
  for (let pid = process.ppid; pid > 1 && here.length > 0; pid = parentOf(pid)) {
    const found = here.find((holder) => holder.pid === pid);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** 0 if it is not known. The name stands in brackets, and may hold some itself. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
