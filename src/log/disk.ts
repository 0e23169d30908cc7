/**
 * The file system, as the log uses it: one folder, with files by name. `write` returns when the operating system has the
 * bytes: they survive the end of the process, but not that of the machine. `sync` resolves when the disk has them.
 */
export interface Disk {
  /** The folder, for messages. */
  readonly path: string;
  names(): string[];
  size(name: string): number;
  /** Reads up to `length` bytes at a position; fewer at the end of the file. */
  read(name: string, position: number, length: number): Buffer;
  /** Creates a file that must not exist. */
  create(name: string): DiskFile;
  /** Cuts a file, and returns when the disk has the change. */
  cut(name: string, length: number): void;
  rename(from: string, to: string): void;
  remove(name: string): void;
  /** Resolves when the disk has the names of files that were created, renamed and removed. */
  syncNames(): Promise<void>;
}

/** A file that is appended to. */
export interface DiskFile {
  /** Appends all bytes, or throws. After an error the file may end with a part of them: see `cutTo`. */
  write(parts: readonly Buffer[]): void;
  /** Drops the bytes from `length` on. */
  cutTo(length: number): void;
  sync(): Promise<void>;
  close(): void;
}
