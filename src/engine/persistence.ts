import type { DurationHistogram } from '../clock/index.ts';

/** The log of an engine, as its commands use it. */
export interface Persistence {
  /** Starts to rewrite the log. Returns false if that is under way. */
  rewrite(): boolean;
  readonly status: PersistenceStatus;
}

/** What INFO shows. */
export interface PersistenceStatus {
  readonly isRewriting: boolean;
  readonly isSyncing: boolean;
  readonly currentBytes: number;
  readonly baseBytes: number;
  /** Bytes that are not written yet. */
  readonly bufferBytes: number;
  readonly lastWrite: 'ok' | 'err';
  readonly lastRewrite: 'ok' | 'err';
  /** How long the last rewrite took; -1 if there was none. */
  readonly lastRewriteSeconds: number;
  readonly rewriteBeganMs: number;
  readonly rewrites: number;
  /** Syncs that took longer than a second. */
  readonly delayedSyncs: number;
  /** How long syncs took. */
  readonly syncs: DurationHistogram;
}
