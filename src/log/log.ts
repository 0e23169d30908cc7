import type { Clock, Random, Timer } from '../clock/index.ts';
import type { Engine, Persistence, PersistenceStatus, SyncMode } from '../engine/index.ts';
import { ErrorReply } from '../resp/index.ts';
import type { Boot } from './boot.ts';
import type { Disk, DiskFile } from './disk.ts';
import { type FrameKind, printFileLine, printFrame } from './frame.ts';
import {
  fileNames,
  type LogFileName,
  lastSequence,
  type Manifest,
  printManifest,
} from './manifest.ts';
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
interface OpenIncrement {
  readonly name: LogFileName;
  readonly file: DiskFile;
  readonly id: number;
  bytes: number;
}

export const MANIFEST = 'appendonly.aof.manifest';
const TEMPORARY = 'temp-manifest';

/**
 * The append-only log of an engine.
 *
 * At the end of each turn the server calls `commit`: everything that the turn has changed is written as one frame. Replies
 * of the turn may leave when `settled` has reached the number that `commit` returns: when the frame is written, or,
 * with `always`, when it is on the disk. Then one write and one sync are under way at a time, and turns that end meanwhile share the next.
 *
 * A write that fails (disk full) is repeated, with the same content; until it succeeds, its replies wait, writes are refused with
 * MISCONF and reads are served. A sync that fails is not repeated: the system may have dropped the bytes. With `always`
 * the process ends; else the whole state is written to new files before writes are accepted again.
 *
 * A rewrite opens a new increment first, and then writes the state as it is, key by key, to a new base file, while commands go on. The base file so holds
 * some of the changes that are also in the new increment. That does no harm, because changes are absolute.
 */
export class AppendLog implements Persistence {
  readonly #options: LogOptions;
  readonly #engine: Engine;
  #manifest: Manifest;
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
  #mustRestart = false;
  #isClosed = false;
  #baseBytes = 0;
  #currentBytes = 0;
  #delayedSyncs = 0;
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
    this.#manifest = options.recovery.manifest;
    this.#written = options.recovery.lastFrame;
    this.#synced = this.#written;
    this.#bootDeltaMs = options.boot.nowMs() - options.clock.monotonicMs();
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
    };
  }

  /** Ends a turn: writes its changes. Returns the number that `settled` must reach before its replies leave. */
  commit(): number {
    const { changes } = this.#engine;
    if (this.#isClosed) return 0;
    if (changes.isEmpty) return this.#failure === undefined ? this.#written : 0;
    const isAlways = this.mode === 'always';
    if (isAlways && this.#isSyncing) return this.#written + 1;
    if (this.#failure === 'write') return 0;
    if (!this.#write()) return this.#written + 1;
    if (isAlways) this.#sync();
    else this.#syncLater();
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
    const { changes } = this.#engine;
    const isWritten = changes.isEmpty || this.#write();
    if (isWritten && this.#failure === undefined) {
      await this.#syncFiles();
      this.#writeFrame('c', NO_BYTES);
      await this.#syncFiles();
    }
    changes.isOn = false;
    this.#current?.file.close();
  }

  async #begin(): Promise<void> {
    const { recovery, disk } = this.#options;
    const { tornAt, manifest } = recovery;
    if (tornAt !== undefined) disk.cut(tornAt.file, tornAt.offset);
    else {
      // Written by a server that was killed, perhaps: the disk may not have it yet.
      for (const { name } of manifest.increments.slice(-1)) disk.cut(name, disk.size(name));
    }
    this.#current = await this.#addIncrement();
    this.#removeOthers();
    this.#baseBytes = manifest.base === undefined ? 0 : disk.size(manifest.base.name);
    this.#currentBytes = fileNames(manifest).reduce((sum, name) => sum + disk.size(name), 0);
    this.#useCurrent();
    this.#engine.changes.isOn = true;
    // Keys also expire when no client is there.
    this.#engine.changes.onFirstUnit = () => this.#options.clock.defer(() => this.commit());
    this.#engine.changes.onSwap = () => {
      this.#mustRestart = true;
    };
    if (recovery.isForeign || manifest.increments.length > MAX_INCREMENTS) this.rewrite();
  }

  #useCurrent(): void {
    const { changes } = this.#engine;
    changes.clear(this.#engine.wallOffsetMs);
    changes.beginFile();
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
    try {
      current.file.write([Buffer.from(line, 'latin1'), commands]);
    } catch (error) {
      current.file.cutTo(current.bytes);
      throw error;
    }
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

  /** With `everysec`, one sync within a second of the first write that is not on the disk. */
  #syncLater(): void {
    if (this.#syncTimer !== undefined || this.mode === 'no') return;
    this.#syncTimer = this.#options.clock.setTimer(SYNC_MS, () => {
      this.#syncTimer = undefined;
      if (this.#isSyncing) this.#delayedSyncs++;
      this.#sync();
      this.#rewriteIfGrown();
    });
  }

  #sync(): void {
    if (this.#isSyncing || this.#isClosed) return;
    this.#isSyncing = true;
    void this.#syncFiles().then(() => this.#endSync());
  }

  /** Syncs the files in order, so that no frame is on the disk without those before it. */
  async #syncFiles(): Promise<void> {
    const number = this.#written;
    const files = [...this.#unsynced];
    this.#unsynced.clear();
    try {
      for (const file of files) {
        await file.sync();
        if (file !== this.#current?.file) file.close();
      }
      this.#synced = Math.max(this.#synced, number);
    } catch (error) {
      this.#failSync(error as Error);
    }
  }

  #endSync(): void {
    this.#isSyncing = false;
    if (this.#failure === 'sync') return;
    if (this.mode === 'always') {
      if (!this.#engine.changes.isEmpty && !this.#isClosed) this.commit();
      this.#rewriteIfGrown();
    } else if (this.#unsynced.size > 0) this.#syncLater();
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
    if (!this.#isClosed) this.rewrite();
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
      do {
        this.#mustRestart = false;
        await this.#rewriteOnce();
      } while (this.#mustRestart);
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

  /** After a failed sync the server waits for the rewrite. */
  #retryRewrite(): void {
    if (this.#failure !== 'sync' || this.#isClosed) return;
    this.#retryTimer = this.#options.clock.setTimer(RETRY_MS, () => this.rewrite());
  }

  async #rewriteOnce(): Promise<void> {
    const { disk } = this.#options;
    const increment = await this.#addIncrement();
    // Between two turns: every earlier frame is in the files before.
    this.#switchTo(increment);
    const name = this.#nextName('base');
    const id = this.#newId();
    const file = disk.create(name.name);
    try {
      const bytes = await this.#writeBase(file, id);
      if (this.#mustRestart || this.#isClosed) {
        file.close();
        disk.remove(name.name);
        return;
      }
      await file.sync();
      // The base file holds effects of the increment: they must not be on the disk without their frames.
      await this.#syncAll();
      const at = this.#manifest.increments.findIndex((each) => each.name === increment.name.name);
      await this.#saveManifest({ base: name, increments: this.#manifest.increments.slice(at) });
      this.#baseBytes = bytes;
      this.#currentBytes = bytes + increment.bytes;
    } catch (error) {
      file.close();
      disk.remove(name.name);
      throw error;
    }
    file.close();
    this.#removeOthers();
    await disk.syncNames();
  }

  async #writeBase(file: DiskFile, id: number): Promise<number> {
    const { changes } = this.#engine;
    const { boot, clock } = this.#options;
    const head = printFileLine({ id, next: this.#written + 1, bootId: boot.id });
    file.write([Buffer.from(head, 'latin1')]);
    let bytes = head.length;
    let number = 0;
    const put = (kind: FrameKind, commands: Buffer, synced = 0): void => {
      const line = this.#frameLine(kind, ++number, id, commands, synced);
      file.write([Buffer.from(line, 'latin1'), commands]);
      bytes += line.length + commands.length;
    };
    changes.beginRewrite();
    const walk = new KeyWalk(this.#engine);
    while (!walk.isDone) {
      const commands = walk.slice(clock.monotonicMs() + SLICE_MS);
      put('d', commands);
      for (let turn = 0; turn < REST_TURNS; turn++) await this.#turn();
      if (this.#mustRestart || this.#isClosed) return bytes;
    }
    changes.endRewrite();
    // The base file is complete only together with the frames that were written meanwhile.
    put('e', NO_BYTES, this.#written);
    return bytes;
  }

  /** Waits until every frame that is written now is on the disk. */
  async #syncAll(): Promise<void> {
    const number = this.#written;
    while (this.#synced < number) {
      if (this.#failure === 'write') throw new Error('the log cannot be written');
      if (!this.#isSyncing) {
        this.#isSyncing = true;
        const failed = this.#failure;
        await this.#syncFiles();
        if (this.#failure !== failed) throw new Error('the disk could not save the log');
        this.#endSync();
      } else await this.#turn();
    }
  }

  #switchTo(increment: OpenIncrement): void {
    const previous = this.#current!;
    if (!this.#engine.changes.isEmpty) this.#write();
    if (this.#failure === 'write') throw new Error('the log cannot be written');
    this.#current = increment;
    this.#engine.changes.beginFile();
    if (!this.#unsynced.has(previous.file) && !this.#isSyncing) previous.file.close();
    else this.#unsynced.add(previous.file);
  }

  /** Creates the next increment and adds it to the manifest. Nothing is written to it yet. */
  async #addIncrement(): Promise<OpenIncrement> {
    const { disk, boot } = this.#options;
    const name = this.#nextName('incr');
    const id = this.#newId();
    const head = printFileLine({ id, next: 0, bootId: boot.id });
    const file = disk.create(name.name);
    file.write([Buffer.from(head, 'latin1')]);
    await file.sync();
    await this.#saveManifest({
      base: this.#manifest.base,
      increments: [...this.#manifest.increments, name],
    });
    return { name, file, id, bytes: head.length };
  }

  /** The rename makes the change. The disk has the names of new files before, and the manifest after. */
  async #saveManifest(manifest: Manifest): Promise<void> {
    const { disk } = this.#options;
    disk.remove(TEMPORARY);
    const file = disk.create(TEMPORARY);
    file.write([Buffer.from(printManifest(manifest), 'latin1')]);
    await file.sync();
    file.close();
    await disk.syncNames();
    disk.rename(TEMPORARY, MANIFEST);
    this.#manifest = manifest;
    await disk.syncNames();
  }

  /** Removes files of the log that the manifest does not name. */
  #removeOthers(): void {
    const { disk } = this.#options;
    const named = new Set(fileNames(this.#manifest));
    for (const name of disk.names()) {
      if (LOG_FILE.test(name) && !named.has(name)) disk.remove(name);
    }
  }

  #nextName(kind: 'base' | 'incr'): LogFileName {
    const taken = this.#options.disk.names().map((name) => Number(LOG_FILE.exec(name)?.[1] ?? 0));
    const sequence = Math.max(lastSequence(this.#manifest), ...taken) + 1;
    return { name: `appendonly.aof.${sequence}.${kind}.aof`, sequence };
  }

  #newId(): number {
    return Buffer.from(this.#options.random.bytes(4)).readUInt32BE();
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.defer(resolve));
  }
}

const LOG_FILE = /^appendonly\.aof\.(\d+)\.(?:base|incr)\.aof$/;
const NO_BYTES = Buffer.alloc(0);
const SYNC_MS = 1000;
const RETRY_MS = 1000;
const SLICE_MS = 2;
/** Turns of the event loop between two slices of a rewrite. */
const REST_TURNS = 2;
/** Each start adds an increment. With more than so many, the log is rewritten at the start. */
const MAX_INCREMENTS = 8;
const FIRST_REWRITE_DELAY_MS = 60_000;
const MAX_REWRITE_DELAY_MS = 3_600_000;
