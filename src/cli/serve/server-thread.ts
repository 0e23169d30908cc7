// The thread of `holdfast serve` that has the engine and the sockets. It is a separate thread because a thread can have a
// heap of the right size, because the process receives signals while a command runs, and because a full heap ends the
// thread only, so that the process can report it.
import { resolve } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { createEngine } from '../../engine/index.ts';
import { LogError, type OpenedFolder, openLogFolder } from '../../log/index.ts';
import { ErrorReply } from '../../resp/index.ts';
import { type LogEntry, type Server, ServerError, startServer } from '../../server/index.ts';
import { applySettings, CONFIG_OPTIONS } from '../serve-options.ts';
import { UsageError } from '../verb.ts';
import { aclFile } from './acl-file.ts';
import { describeAccess } from './banner.ts';
import { applyDirectives } from './config-settings.ts';
import { LOCK_ROLE } from './lock-role.ts';
import type { ServerMessage, ServerOrder, ServerThreadData } from './messages.ts';
import { PageSession } from './page-session.ts';
import { rewriteConfig, rewriteFile } from './rewrite-config.ts';
import { RunMark } from './run-mark.ts';
import { readTlsFiles, tlsOptions } from './tls-files.ts';

const input = workerData as ServerThreadData;
const { values, config } = input;
const port = parentPort!;
const engine = createEngine({
  lockRole: LOCK_ROLE,
  settings: { 'lock-history-size': '64mb' },
});
const page = new PageSession(engine, () => data?.log);
let server: Server | undefined;
let data: OpenedFolder | undefined;
let mark: RunMark | undefined;
let starting: Promise<void> | undefined;
let isEnding = false;

// In Node this global is a getter, which costs as much as a call of now().
Object.defineProperty(globalThis, 'performance', { value: performance });
// No object is reached by a name that a client chose; if it were, this name would be the dangerous one.
Reflect.deleteProperty(Object.prototype, '__proto__');

process.on('uncaughtException', (error) => {
  const command = engine.lastCommand;
  const message = `ends after an internal error in ${command}: ${error.stack ?? error.message}`;
  log({ level: 'warning', event: 'internal-error', message, fields: { command } });
  void end(1);
});
engine.requestShutdown = () => void end(0);
port.on('message', (order: ServerOrder) => {
  switch (order.kind) {
    case 'start':
      starting = start(order);
      break;
    case 'stop':
      void end(0);
      break;
    case 'command':
      page.run(order.argv, (bytes) => send({ kind: 'reply', id: order.id, bytes }));
      break;
    case 'password':
      engine.settings.put('requirepass', order.password);
      break;
    case 'reload-certificate':
      reloadCertificate();
      break;
  }
});

async function start(order: ServerOrder & { kind: 'start' }): Promise<void> {
  try {
    applyConfig();
    applySettings(input, engine.settings);
    loadUsers();
    mark = order.mark === undefined ? undefined : new RunMark(order.mark);
    data = await openData();
    const graceMs = graceFor(order.graceMs);
    // A server after this one must wait for the rest of the time: the log shows only how the server before it has ended.
    if (data !== undefined) attemptMark(() => mark?.end(graceMs));
    // A signal has come while the data was loaded.
    if (isEnding) return;
    engine.refuseWritesFor(graceMs);
    server = await listen();
    // Before the first client is accepted.
    if (data === undefined) attemptMark(() => mark?.set());
    engine.settings.put('port', String(server.port));
    engine.settings.put('tls-port', String(server.tlsPort));
    if (graceMs > 0) report('restart-grace', graceNotice(graceMs));
    const { addresses, tlsPort } = server;
    const facts = {
      addresses,
      port: server.port,
      tlsPort,
      durability: durability(),
      access: access(),
    };
    send({ kind: 'listening', facts });
    if (config !== undefined) engine.rewriteConfig = rewriter(config);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    if (!(isUsage || error instanceof ServerError || error instanceof LogError)) throw error;
    await data?.close();
    const details = error instanceof ConfigError ? error.details : [];
    send({ kind: 'refused', message: error.message, details, isUsage });
    port.close();
  }
}

/** The data folder; undefined with `appendonly no`. */
async function openData(): Promise<OpenedFolder | undefined> {
  if (!engine.settings.flag('appendonly')) return undefined;
  return openLogFolder(engine.settings.text('dir'), {
    engine,
    report: (message) => log({ level: 'warning', event: 'data', message }),
    onFatal: fail,
  });
}

/** How long locks may still be held that this server does not know. */
function graceFor(graceMs: number): number {
  const recovery = data?.recovery;
  // The machine has crashed, and the disk did not have the last second.
  const mayLack = recovery?.isOtherBoot && !recovery.isClean && engine.syncMode !== 'always';
  return mayLack ? graceMs : (mark?.leftMs(graceMs) ?? 0);
}

function fail(message: string): void {
  const reason = `ends at once, so that no reply leaves that the log does not have: ${message}`;
  log({ level: 'warning', event: 'data', message: reason });
  send({ kind: 'ended', exitCode: 1 });
  process.exit(1);
}

/** Throws UsageError with the file and the lines that are wrong. */
function loadUsers(): void {
  const path = engine.settings.text('aclfile');
  if (path === '') return;
  engine.acl.file = aclFile(path);
  try {
    engine.acl.load();
  } catch (error) {
    if (!(error instanceof ErrorReply)) throw error;
    const reason = error.message.replace(/^ERR |WARNING: ACL errors detected.*$/g, '').trim();
    throw new UsageError(`--aclfile cannot be used: ${reason}`);
  }
}

/** A configuration file has lines that cannot be used. */
class ConfigError extends UsageError {
  readonly details: readonly string[];

  constructor(path: string, details: readonly string[]) {
    super(`${path} has ${details.length === 1 ? 'an error' : `${details.length} errors`}.`);
    this.details = details;
  }
}

function durability(): string {
  if (data === undefined) return 'in memory only: a restart forgets everything';
  return `in ${resolve(engine.settings.text('dir'))}, ${SYNC_TEXTS[engine.syncMode]}`;
}

const SYNC_TEXTS = {
  always: 'on the disk before each reply',
  everysec: 'on the disk within a second; kill -9 loses nothing',
  no: 'on the disk when the system likes; kill -9 loses nothing',
} as const;

/** Applies the lines of the configuration file that are no options. */
function applyConfig(): void {
  if (config === undefined) return;
  const { path, rest } = config;
  const found = applyDirectives(rest, engine.settings, [...CONFIG_OPTIONS.keys()]);
  const errors = found.errors.map((error) => `${path}, ${error}`);
  if (errors.length > 0) throw new ConfigError(path, errors);
  for (const notice of found.notices) report('config', `${path}, ${notice}`);
}

/** CONFIG REWRITE: writes the settings that have changed since the start, or since it was last called. */
function rewriter({ path }: NonNullable<typeof config>): () => void {
  const { settings } = engine;
  let known = settings.values();
  return () => {
    const values = settings.values();
    const changed = new Map([...values].filter(([name, value]) => known.get(name) !== value));
    // The file of the password would contradict it.
    if (input.hasPasswordFile) changed.delete('requirepass');
    rewriteFile(path, (text) => rewriteConfig(text, changed, (word) => settings.nameOf(word)));
    known = values;
  };
}

function access(): string {
  const { settings, needsPassword, acl } = engine;
  return describeAccess({
    host: settings.text('bind'),
    port: server!.port,
    tlsPort: server!.tlsPort,
    hasUnixSocket: settings.text('unixsocket') !== '',
    signIn: !needsPassword ? 'none' : acl.hasMoreUsers ? 'user' : 'password',
    certificates: settings.text('tls-auth-clients'),
  });
}

function reloadCertificate(): void {
  try {
    server?.setCertificate(readTlsFiles(engine.settings));
    report('certificate', 'reloaded the certificate');
  } catch (error) {
    const message = `kept the certificate before: ${(error as Error).message}`;
    log({ level: 'warning', event: 'certificate', message });
  }
}

function listen(): Promise<Server> {
  const { host, port, unix, unprotected } = values;
  const tls = tlsOptions(engine.settings);
  return startServer({
    engine,
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: Number(port) }),
    ...(unix !== undefined && { unix }),
    ...(unprotected !== undefined && { unprotected }),
    ...(data !== undefined && { log: data.log }),
    ...(tls !== undefined && { tls }),
    report: (_message, entry) => log(entry),
  });
}

async function end(exitCode: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  // What it has opened must be closed. An error of it has led here.
  await starting?.catch(() => {});
  // Connections in the backlog are accepted first, and closed like the others.
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  await server?.close();
  await data?.close();
  const leaseMs = engine.longestLeaseMs();
  if (server !== undefined && data === undefined) attemptMark(() => mark?.end(leaseMs));
  send({ kind: 'ended', exitCode });
  engine.close();
  port.close();
}

/** A full disk must not end the server. */
function attemptMark(write: () => void): void {
  try {
    write();
  } catch (error) {
    const message = `cannot write the mark that a server after this one would wait for: ${error}`;
    log({ level: 'warning', event: 'mark', message });
  }
}

function graceNotice(graceMs: number): string {
  return (
    `the server before did not end in order, or while keys with a lease were alive: for ${Math.ceil(graceMs / 1000)} s ` +
    'this one takes no writes, because those locks may still be held (--restart-grace)'
  );
}

function nextTurn(): Promise<void> {
  return new Promise((done) => engine.clock.defer(done));
}

function report(event: string, message: string): void {
  log({ level: 'notice', event, message });
}

function log(entry: LogEntry): void {
  send({ kind: 'log', entry });
}

function send(message: ServerMessage): void {
  port.postMessage(message);
}
