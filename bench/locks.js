// The lock library beside its floor and its peers: one file for each claim, each measured in one run.
import { runInTurn } from './measure.js';

runInTurn(['locks/cycles', 'locks/hand-over', 'locks/embedded', 'locks/waiters']);
