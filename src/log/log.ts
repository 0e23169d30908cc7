import { type Clock, DurationHistogram, type Random, type Timer } from '../clock/index.ts';
import type { Engine, Persistence, PersistenceStatus, SyncMode } from '../engine/index.ts';
import { ErrorReply } from '../resp/index.ts';
import type { Boot } from './boot.ts';
import type { Disk, DiskFile } from './disk.ts';
import { type FrameKind, printFrame } from './frame.ts';
import { LogFiles, type NewFile } from './log-files.ts';
import type { Recovery } from './recovery.ts';
import { KeyWalk } from './walk.ts';

export interface LogOptions {
  readonly engine: Engine;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly boot: Boot;
  /** What was loaded. */
  readonly recovery: Recovery;
  /** Receives lines for the operator. */
  readonly report: (message: string) => void;
  /** The log cannot go on, and no reply may leave any more: the process must end. */
  readonly onFatal: (message: string) => void;
}

/** An increment that is written to. */
interface OpenIncrement extends NewFile {
  /** The length of the whole frames. */
  bytes: number;
  /** Whether a write has failed that may have left bytes after them. */
  hasPart: boolean;
}

/**
 * The append-only log of an engine.
 *
 * At the end of each turn the server calls `commit`: everything that the turn has changed is written as one frame.
 * Replies of the turn may leave when `settled` has reached the number that `commit` returns: when the frame is written,
 * or, with `always`, when it is on the disk. With `always` one write and one sync are under way at a time, and turns
 * that end meanwhile share the next.
 *
 * A write that fails (disk full) is repeated, with the same content. Until it succeeds, its replies wait, writes are
 * refused with MISCONF and reads are served. A sync that fails is not repeated: the system may have dropped the bytes.
 * With `always` the process ends; else the whole state is written to new files before writes are accepted again.
 *
 * A rewrite opens a new increment, and then writes the state, key by key, to a new base file, while commands go on. So
 * the base file holds some of the changes that are in the new increment too. Changes are absolute, so that they may be
 * applied twice.
 */
export class AppendLog implements Persistence {
  readonly #options: LogOptions;
  readonly #engine: Engine;
  readonly #files: LogFiles;
  #current: OpenIncrement | undefined;
  /** Files that have bytes which the disk may not have. */
  readonly #unsynced = new Set<DiskFile>();
  /** The last frame that was written, and the last that is on the disk. */
  #written: number;
  #synced: number;
  #isSyncing = false;
  #syncTimer: Timer | undefined;
  #retryTimer: Timer | undefined;
  #failure: 'write' | 'sync' | undefined;
  /** Boot time minus the engine's time. */
  readonly #bootDeltaMs: number;
  #isRewriting = false;
  /** The rewrite that is under way must begin again. */
  #mustRestart = false;
  #isClosed = false;
  #baseBytes = 0;
  #currentBytes = 0;
  #delayedSyncs = 0;
  readonly #syncs = new DurationHistogram();
  #lastRewrite: 'ok' | 'err' = 'ok';
  #lastRewriteSeconds = -1;
  #rewriteBeganMs = 0;
  #rewrites = 0;
  #nextRewriteMs = 0;
  #rewriteDelayMs = FIRST_REWRITE_DELAY_MS;
  /** Called when `settled` has grown. */
  onSettled: () => void = () => {};

  private constructor(options: LogOptions) {
    this.#options = options;
    this.#engine = options.engine;
    const { disk, boot, random, recovery } = options;
    this.#files = new LogFiles(disk, boot, random, recovery.manifest);
    this.#written = recovery.lastFrame;
    this.#synced = this.#written;
    this.#bootDeltaMs = boot.nowMs() - options.clock.monotonicMs();
  }

  /** Continues a log that was loaded, in a new increment. */
  static async open(options: LogOptions): Promise<AppendLog> {
    const log = new AppendLog(options);
    await log.#begin();
    return log;
  }

  get mode(): SyncMode {
    return this.#engine.syncMode;
  }

  /** Replies that have seen frames up to this number may leave. */
  get settled(): number {
    return this.mode === 'always' ? this.#synced : this.#written;
  }

  get status(): PersistenceStatus {
    return {
      isRewriting: this.#isRewriting,
      isSyncing: this.#isSyncing,
      currentBytes: this.#currentBytes,
      baseBytes: this.#baseBytes,
      bufferBytes: this.#engine.changes.bytes,
      lastWrite: this.#failure === undefined ? 'ok' : 'err',
      lastRewrite: this.#lastRewrite,
      lastRewriteSeconds: this.#lastRewriteSeconds,
      rewriteBeganMs: this.#rewriteBeganMs,
      rewrites: this.#rewrites,
      delayedSyncs: this.#delayedSyncs,
      syncs: this.#syncs,
    };
  }

  /** Ends a turn: writes its changes. Returns the number that `settled` must reach before its replies leave. */
  commit(): number {
    const { changes } = this.#engine;
    if (this.#isClosed || this.#current === undefined) return 0;
    if (changes.isEmpty) {
      // Frames that were written before CONFIG SET appendfsync always.
      if (this.#unsynced.size > 0) this.#syncInTime();
      return this.#failure === undefined ? this.#written : 0;
    }
    const waits = this.mode === 'always' && this.#isSyncing && changes.bytes < MAX_WAITING_BYTES;
    if (waits) return this.#written + 1;
    if (this.#failure === 'write') return 0;
    if (!this.#write()) return this.#written + 1;
    this.#syncInTime();
    return this.#written;
  }

  /** Starts to write the state to a new base file. Returns false if that is under way. */
  rewrite(): boolean {
    if (this.#isRewriting || this.#isClosed) return false;
    this.#isRewriting = true;
    void this.#rewrite();
    return true;
  }

  /** Writes and syncs everything, and marks the log as ended in order. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#syncTimer?.cancel();
    this.#retryTimer?.cancel();
    this.#mustRestart = false;
    while (this.#isSyncing || this.#isRewriting) await this.#turn();
    await this.#writeEnd();
    this.#engine.changes.isOn = false;
    this.#current?.file.close();
  }

  /** The frame `c` is written only if everything before it is on the disk. */
  async #writeEnd(): Promise<void> {
    const { changes } = this.#engine;
    if (!changes.isEmpty) this.#write();
    if (this.#failure !== undefined || !(await this.#syncFiles())) return;
    try {
      this.#writeFrame('c', NO_BYTES);
      await this.#syncFiles();
    } catch (error) {
      this.#options.report(`could not mark the end of the log (${(error as Error).message})`);
    }
  }

  async #begin(): Promise<void> {
    const { recovery, disk } = this.#options;
    const { tornAt, manifest } = recovery;
    // Before the first wait: a key that expires from now on must be deleted in the log too.
    this.#recordChanges();
    for (const { name } of manifest.increments) {
      // Also a file that is not torn: if its server was killed, the disk may not have all of it yet.
      disk.cut(name, name === tornAt?.file ? tornAt.offset : disk.size(name));
    }
    this.#current = openIncrement(await this.#files.addIncrement());
    this.#files.removeUnused();
    this.#countFiles();
    if (!this.#engine.changes.isEmpty) this.commit();
    if (recovery.isForeign || manifest.increments.length > MAX_INCREMENTS) this.rewrite();
  }

  #recordChanges(): void {
    const { changes } = this.#engine;
    changes.clear(this.#engine.wallOffsetMs);
    changes.beginFile();
    // Keys also expire when no client is there.
    changes.onFirstUnit = () => this.#options.clock.defer(() => this.commit());
    changes.onSwap = () => {
      this.#mustRestart = true;
    };
    changes.isOn = true;
  }

  /** Writes a frame. Returns false if that failed: then it is tried again. */
  #write(): boolean {
    const { changes } = this.#engine;
    try {
      this.#writeFrame('d', changes.view());
    } catch (error) {
      this.#failWrite(error as NodeJS.ErrnoException);
      return false;
    }
    changes.clear(this.#engine.wallOffsetMs);
    if (this.#failure === 'write') this.#recover('the log can be written again');
    return true;
  }

  #writeFrame(kind: FrameKind, commands: Buffer): void {
    const current = this.#current!;
    const number = this.#written + 1;
    const line = this.#frameLine(kind, number, current.id, commands);
    if (current.hasPart) current.file.cutTo(current.bytes);
    current.hasPart = true;
    current.file.write([Buffer.from(line, 'latin1'), commands]);
    current.hasPart = false;
    this.#written = number;
    current.bytes += line.length + commands.length;
    this.#currentBytes += line.length + commands.length;
    this.#unsynced.add(current.file);
  }

  #frameLine(
    kind: FrameKind,
    number: number,
    fileId: number,
    commands: Buffer,
    synced = this.#synced,
  ): string {
    const { changes } = this.#engine;
    const offsetMs = changes.wallOffsetMs - this.#bootDeltaMs;
    const wallMs = Math.max(
      0,
      Math.floor(this.#options.clock.monotonicMs() + changes.wallOffsetMs),
    );
    return printFrame(
      { kind, number, bytes: commands.length, synced, wallMs, offsetMs },
      fileId,
      commands,
    );
  }

  /** With `always`, at once; else within a second of the first write that is not on the disk. */
  #syncInTime(): void {
    if (this.mode === 'always') this.#sync();
    else
      this.#syncTimer ??= this.#options.clock.setTimer(SYNC_MS, () => {
        this.#syncTimer = undefined;
        if (this.#isSyncing) this.#delayedSyncs++;
        if (this.mode !== 'no') this.#sync();
        this.#rewriteIfGrown();
      });
  }

  #sync(): void {
    if (this.#isSyncing || this.#isClosed) return;
    this.#isSyncing = true;
    void this.#syncFiles().then(() => this.#endSync());
  }

  /** Syncs the files in order, so that no frame is on the disk without those before it. Returns false if that failed. */
  async #syncFiles(): Promise<boolean> {
    const number = this.#written;
    const files = [...this.#unsynced];
    const beganMs = this.#options.clock.monotonicMs();
    this.#unsynced.clear();
    try {
      for (const file of files) await file.sync();
      if (files.length > 0) this.#syncs.add((this.#options.clock.monotonicMs() - beganMs) / 1000);
      this.#synced = Math.max(this.#synced, number);
      return true;
    } catch (error) {
      this.#failSync(error as Error);
      return false;
    } finally {
      for (const file of files) this.#closeIfDone(file);
    }
  }

  /** Closes the file of an earlier increment, unless frames were written to it during the last sync. */
  #closeIfDone(file: DiskFile): void {
    if (file !== this.#current?.file && !this.#unsynced.has(file)) file.close();
  }

  #endSync(): void {
    this.#isSyncing = false;
    if (this.#failure === 'sync') return;
    // Also frames that were written during the sync.
    this.commit();
    if (this.mode === 'always') this.#rewriteIfGrown();
    this.onSettled();
  }

  #failWrite(error: NodeJS.ErrnoException): void {
    if (this.#failure === undefined) {
      this.#options.report(
        `cannot write the log (${error.message}): writes are refused until it can be written again`,
      );
    }
    this.#refuseWrites('write', error);
    this.#retryTimer = this.#options.clock.setTimer(RETRY_MS, () => {
      if (this.#isClosed || this.#failure !== 'write') return;
      if (this.#write()) {
        this.#sync();
        this.onSettled();
      }
    });
  }

  #failSync(error: Error): void {
    if (this.mode === 'always') {
      this.#refuseWrites('sync', error);
      this.#options.onFatal(`the disk has lost a part of the log (${error.message})`);
      return;
    }
    this.#options.report(
      `the disk could not save the log (${error.message}): writes are refused until the whole state is in new files`,
    );
    this.#refuseWrites('sync', error);
    // A rewrite that is under way has an increment that may have lost frames.
    if (this.#isRewriting) this.#mustRestart = true;
    else this.rewrite();
  }

  #refuseWrites(failure: 'write' | 'sync', error: Error): void {
    this.#failure = failure;
    this.#engine.writeRefusal = new ErrorReply(
      `MISCONF Errors writing to the AOF file: ${error.message}`,
    );
  }

  #recover(message: string): void {
    this.#failure = undefined;
    this.#engine.writeRefusal = undefined;
    this.#options.report(message);
  }

  #rewriteIfGrown(): void {
    const { settings } = this.#engine;
    const percentage = settings.number('auto-aof-rewrite-percentage');
    if (percentage === 0 || this.#isRewriting || this.#isClosed) return;
    if (this.#currentBytes < settings.number('auto-aof-rewrite-min-size')) return;
    if (this.#currentBytes < this.#baseBytes * (1 + percentage / 100)) return;
    if (this.#options.clock.monotonicMs() >= this.#nextRewriteMs) this.rewrite();
  }

  async #rewrite(): Promise<void> {
    const { clock, report } = this.#options;
    this.#rewriteBeganMs = clock.monotonicMs();
    this.#rewrites++;
    try {
      await this.#rewriteWhole();
      if (this.#isClosed) return;
      this.#lastRewrite = 'ok';
      this.#rewriteDelayMs = FIRST_REWRITE_DELAY_MS;
      if (this.#failure === 'sync') this.#recover('the whole state is in new files');
    } catch (error) {
      this.#lastRewrite = 'err';
      this.#nextRewriteMs = clock.monotonicMs() + this.#rewriteDelayMs;
      this.#rewriteDelayMs = Math.min(this.#rewriteDelayMs * 2, MAX_REWRITE_DELAY_MS);
      report(`could not rewrite the log: ${(error as Error).message}`);
      this.#retryRewrite();
    } finally {
      this.#engine.changes.endRewrite();
      this.#lastRewriteSeconds = Math.round((clock.monotonicMs() - this.#rewriteBeganMs) / 1000);
      this.#isRewriting = false;
    }
  }

  /** Begins again if databases were exchanged or a sync has failed meanwhile. */
  async #rewriteWhole(): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      this.#mustRestart = false;
      await this.#rewriteOnce();
      if (!this.#mustRestart || this.#isClosed) return;
    }
    throw new Error(`it had to begin again ${MAX_ATTEMPTS} times (SWAPDB, or errors of the disk)`);
  }

  /** After a failed sync the server waits for the rewrite. */
  #retryRewrite(): void {
    if (this.#failure !== 'sync' || this.#isClosed) return;
    this.#retryTimer = this.#options.clock.setTimer(RETRY_MS, () => this.rewrite());
  }

  async #rewriteOnce(): Promise<void> {
    const increment = openIncrement(await this.#files.addIncrement());
    // Between two turns: every earlier frame is in the files before.
    this.#switchTo(increment);
    const base = this.#files.createBase(this.#written + 1);
    try {
      await this.#writeBase(base);
      if (this.#mustRestart || this.#isClosed) return;
      await base.file.sync();
      // The base file holds effects of the increment: they must not be on the disk without their frames.
      await this.#syncAll();
      await this.#files.useBase(base.name, increment.name);
      this.#countFiles();
    } finally {
      this.#files.dropBase(base);
    }
  }

  async #writeBase({ file, id }: NewFile): Promise<void> {
    const { changes } = this.#engine;
    const { clock } = this.#options;
    let number = 0;
    const put = (kind: FrameKind, commands: Buffer, synced = 0): void => {
      const line = this.#frameLine(kind, ++number, id, commands, synced);
      file.write([Buffer.from(line, 'latin1'), commands]);
    };
    changes.beginRewrite();
    const walk = new KeyWalk(this.#engine);
    while (!walk.isDone) {
      put('d', walk.slice(clock.monotonicMs() + SLICE_MS));
      for (let turn = 0; turn < REST_TURNS; turn++) await this.#turn();
      if (this.#mustRestart || this.#isClosed) return;
    }
    changes.endRewrite();
    // The base file is complete only together with the frames that were written meanwhile.
    put('e', NO_BYTES, this.#written);
  }

  #countFiles(): void {
    const { base, all } = this.#files.sizes();
    this.#baseBytes = base;
    this.#currentBytes = all;
  }

  /** Waits until every frame that is written now is on the disk. */
  async #syncAll(): Promise<void> {
    const number = this.#written;
    while (this.#synced < number) {
      if (this.#failure === 'write') throw new Error('the log cannot be written');
      if (!this.#isSyncing) {
        this.#isSyncing = true;
        const isSynced = await this.#syncFiles();
        this.#endSync();
        if (!isSynced) throw new Error('the disk could not save the log');
      } else await this.#turn();
    }
  }

  #switchTo(increment: OpenIncrement): void {
    const previous = this.#current!;
    if (!this.#engine.changes.isEmpty) this.#write();
    if (this.#failure === 'write') {
      increment.file.close();
      throw new Error('the log cannot be written');
    }
    this.#current = increment;
    this.#engine.changes.beginFile();
    // The sync that is under way may have begun before the last frames.
    if (this.#isSyncing) this.#unsynced.add(previous.file);
    else this.#closeIfDone(previous.file);
    if (this.#unsynced.size > 0) this.#syncInTime();
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.defer(resolve));
  }
}

function openIncrement(created: NewFile): OpenIncrement {
  return { ...created, bytes: created.lineBytes, hasPart: false };
}

const NO_BYTES = Buffer.alloc(0);
const SYNC_MS = 1000;
const RETRY_MS = 1000;
const SLICE_MS = 2;
/** Turns of the event loop between two slices of a rewrite. */
const REST_TURNS = 2;
/** Each start adds an increment. With more than so many, the log is rewritten at the start. */
const MAX_INCREMENTS = 8;
/**
 * With `always`, changes of this size do not wait for the sync that is under way: memory is bounded if the disk is
 * slow.
 */
const MAX_WAITING_BYTES = 16 * 2 ** 20;
/** How often a rewrite begins before it fails. */
const MAX_ATTEMPTS = 4;
const FIRST_REWRITE_DELAY_MS = 60_000;
const MAX_REWRITE_DELAY_MS = 3_600_000;
