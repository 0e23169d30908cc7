import { createEngine, type Engine } from '../engine/index.ts';
import { type Server, ServerError, startServer } from '../server/index.ts';
import { describeOptions } from './options.ts';
import {
  applySettings,
  readServeOptions,
  SERVE_OPTIONS,
  type ServeValues,
} from './serve-options.ts';
import { type Io, print, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

/** `holdfast serve`: the engine behind sockets, until a signal or SHUTDOWN ends it. */
export const serve: Verb = {
  options: SERVE_OPTIONS,

  help: `holdfast serve: starts a server that any Redis client can talk to

Usage: holdfast serve [options]

${describeOptions(SERVE_OPTIONS)}

Every option has a variable too, which a flag beats: HOLDFAST_PORT for --port, and so on.
CONFIG GET shows the values under the same names (host is bind, unix unixsocket, password requirepass).
(*) Others on the machine can read flags with ps: prefer HOLDFAST_PASSWORD or --password-file.

Examples:
  holdfast serve                            listens on 127.0.0.1:6379
  holdfast serve --port 7001 --databases 1
  holdfast serve --unix /run/holdfast/socket
  HOLDFAST_PASSWORD=… holdfast serve --host 0.0.0.0`,

  async run(args, io) {
    const values = readServeOptions(args, io.environment);
    if (values.help) return print(io, this.help);
    const engine = createEngine();
    applySettings(values, engine.settings);
    const asked = stopAsked(engine);
    const server = await listen(values, engine, io);
    engine.settings.put('port', String(server.port));
    print(io, greeting(server));
    await asked;
    stopAtSecondSignal();
    await server.close();
    engine.close();
    return 0;
  },
};

function listen(values: ServeValues, engine: Engine, io: Io): Promise<Server> {
  const { host, port, unix, unprotected } = values;
  return startServer({
    engine,
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: Number(port) }),
    ...(unix !== undefined && { unix }),
    ...(unprotected !== undefined && { unprotected }),
    report: (message) => io.errors.write(`${timestamp(engine)} ${message}\n`),
  }).catch((error: unknown) => {
    throw error instanceof ServerError ? new VerbError(error.message) : error;
  });
}

function timestamp(engine: Engine): string {
  return new Date(engine.clock.wallMs()).toISOString();
}

/** Settles at the first wish to stop: a signal or the command SHUTDOWN. */
function stopAsked(engine: Engine): Promise<void> {
  return new Promise((resolve) => {
    engine.requestShutdown = resolve;
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve());
  });
}

/** Whoever asks twice does not want to wait for clients. */
function stopAtSecondSignal(): void {
  for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(1));
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

function greeting(server: Server): string {
  const store =
    server.port === 0 ? `unix:${server.addresses[0]}` : `redis://${server.addresses[0]}`;
  const option = server.port === 6379 ? '' : ` --store ${store}`;
  const reach = server.port === 0 ? `-s ${server.addresses[0]}` : `-p ${server.port}`;
  return [
    `holdfast ${version()} listens on ${server.addresses.join(' and ')}. Ctrl-C stops it.`,
    `Try: npx holdfast cli${option} SETNX job programmer   (or: redis-cli ${reach})`,
  ].join('\n');
}
