import type { Session } from './session.ts';

export type ClientType = 'normal' | 'pubsub';

export function clientType(session: Session): ClientType {
  return session.subscriptionCount > 0 ? 'pubsub' : 'normal';
}

/**
 * One line of CLIENT LIST, with the fields of Redis 7.0 in their order, and the library name and version of 7.2
 * at the end. Fields that have no meaning here are 0.
 */
export function clientLine(session: Session): string {
  return Object.entries(clientFields(session))
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function clientFields(session: Session): Record<string, string | number> {
  const { engine, memory } = session;
  const { input, output, queue } = memory.uses;
  return {
    id: session.id,
    addr: session.address,
    laddr: session.localAddress,
    fd: 0,
    name: session.name,
    age: secondsSince(engine.nowMs, session.createdMs),
    idle: secondsSince(engine.nowMs, session.lastUsedMs),
    flags: flagLetters(session),
    db: session.database.number,
    sub: session.channels.size,
    psub: session.patterns.size,
    ssub: session.shardChannels.size,
    multi: session.queue?.length ?? -1,
    qbuf: input,
    'qbuf-free': 0,
    'argv-mem': 0,
    'multi-mem': queue,
    rbs: 0,
    rbp: 0,
    obl: 0,
    oll: 0,
    omem: output + memory.sharedBytes,
    'tot-mem': memory.totalBytes,
    events: 'r',
    cmd: session.lastCommand,
    user: session.user.name,
    redir: -1,
    resp: session.protocol,
    'lib-name': session.libraryName,
    'lib-ver': session.libraryVersion,
  };
}

function secondsSince(nowMs: number, beganMs: number): number {
  return Math.max(0, Math.floor((nowMs - beganMs) / 1000));
}

/** The flags in the order of Redis; `N` if there is none. */
function flagLetters(session: Session): string {
  const letters = [
    session.monitoring ? 'O' : '',
    session.subscriptionCount > 0 ? 'P' : '',
    session.queue !== null ? 'x' : '',
    session.blockedCommand !== null ? 'b' : '',
    session.watchBroken ? 'd' : '',
    session.closing ? 'c' : '',
    session.noEvict ? 'e' : '',
    session.noTouch ? 'T' : '',
  ].join('');
  return letters === '' ? 'N' : letters;
}
