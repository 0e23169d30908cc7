import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** From the client to the server, or back. */
export type Way = 'requests' | 'replies';

/** What befalls the bytes of a connection. Where no way is named, it befalls both. */
export type Fault =
  | { readonly kind: 'pass' }
  /** Bytes are taken and never arrive. A link that has lost some ends when it is to pass again. */
  | { readonly kind: 'swallow'; readonly way?: Way }
  /** Bytes arrive later, in order, even if the sender has closed by then. */
  | { readonly kind: 'delay'; readonly delayMs: number; readonly way?: Way }
  /** So many more bytes arrive, then the connection ends. With 0 it ends when the next byte comes. */
  | { readonly kind: 'cut'; readonly way: Way; readonly afterBytes: number }
  /** The client gets a TCP reset. */
  | { readonly kind: 'reset' }
  /** As reset, and the listener is closed. */
  | { readonly kind: 'refuse' };

export const PASS = { kind: 'pass' } as const satisfies Fault;

/**
 * A TCP proxy that does harm on command: to one link, or to all, those to come included. It knows
 * nothing of what it carries.
 */
export class FaultProxy implements AsyncDisposable {
  readonly port: number;
  readonly #targetPort: number;
  readonly #links = new Set<Link>();
  #listener: Server | undefined;
  #fault: Fault = PASS;

  static async start(targetPort: number): Promise<FaultProxy> {
    const listener = await listen(0);
    return new FaultProxy(listener, targetPort);
  }

  private constructor(listener: Server, targetPort: number) {
    this.port = (listener.address() as AddressInfo).port;
    this.#targetPort = targetPort;
    this.#adopt(listener);
  }

  /** Those that are open, oldest first. */
  get links(): readonly Link[] {
    return [...this.#links];
  }

  /** The youngest open link whose requests so far contain this text, in any case. */
  /** The same, when there is one. */
  async linkLater(text: string): Promise<Link> {
    while (!this.links.some((link) => carries(link, text))) await setImmediate();
    return this.link(text);
  }

  link(text: string): Link {
    const found = this.links.findLast((link) => carries(link, text));
    if (found === undefined) throw new Error(`no link carries '${text}'`);
    return found;
  }

  /** Befalls all links, now and later, until something else is set. */
  async set(fault: Fault): Promise<void> {
    this.#fault = fault;
    for (const link of this.links) link.set(fault);
    if (fault.kind === 'refuse') {
      this.#listener?.close();
      this.#listener = undefined;
    } else if (this.#listener === undefined) {
      this.#adopt(await listen(this.port));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener?.close();
    for (const link of this.links) link.sever();
  }

  #adopt(listener: Server): void {
    this.#listener = listener;
    listener.on('connection', (client: Socket) => {
      const link = new Link(client, connect(this.#targetPort, '127.0.0.1'));
      this.#links.add(link);
      client.once('close', () => this.#links.delete(link));
      link.set(this.#fault);
    });
  }
}

/** A connection through the proxy. */
export class Link {
  readonly requests: Pipe;
  readonly replies: Pipe;
  readonly #client: Socket;
  readonly #server: Socket;

  constructor(client: Socket, server: Socket) {
    this.#client = client;
    this.#server = server;
    this.requests = new Pipe(client, server, () => client.destroy());
    this.replies = new Pipe(server, client, () => server.destroy());
  }

  set(fault: Fault): void {
    if (fault.kind === 'reset' || fault.kind === 'refuse') this.#reset();
    this.requests.set('way' in fault && fault.way === 'replies' ? PASS : fault);
    this.replies.set('way' in fault && fault.way === 'requests' ? PASS : fault);
    if (fault.kind === 'pass' && this.isBroken) this.sever();
  }

  /** Whether bytes were lost: by a cut, or swallowed. */
  get isBroken(): boolean {
    return this.requests.isBroken || this.replies.isBroken;
  }

  /** The client's side ends. What it has sent before is still under way. */
  hangUp(): void {
    this.#client.destroy();
  }

  /** Whether both sides have ended, so that nothing is under way any more. */
  get isOver(): boolean {
    return this.#client.destroyed && this.#server.destroyed;
  }

  sever(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #reset(): void {
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }
}

/** One way of a link. */
class Pipe {
  /** All that came, one char a byte, whether it arrived or not. */
  text = '';
  isBroken = false;
  readonly #target: Socket;
  readonly #endSource: () => void;
  #fault: Fault = PASS;
  /** How many bytes may still pass until the cut. */
  #leftBytes = 0;
  /** What is on its way, so that nothing overtakes it. */
  #underway = Promise.resolve();
  #underwayCount = 0;

  constructor(source: Socket, target: Socket, endSource: () => void) {
    this.#target = target;
    this.#endSource = endSource;
    source.on('data', (chunk) => this.#carry(chunk));
    source.on('error', () => {});
    source.on('close', () => this.#underway.then(() => target.end()));
  }

  set(fault: Fault): void {
    this.#fault = fault;
    if (fault.kind === 'cut') this.#leftBytes = fault.afterBytes;
  }

  #carry(chunk: Buffer): void {
    this.text += chunk.toString('latin1');
    const fault = this.#fault;
    if (fault.kind === 'swallow') this.isBroken = true;
    else if (fault.kind === 'cut') this.#carryUntilCut(chunk);
    else if (fault.kind === 'delay') this.#carryLater(chunk, fault.delayMs);
    else if (this.#underwayCount > 0) this.#carryLater(chunk, 0);
    else this.#target.write(chunk);
  }

  #carryUntilCut(chunk: Buffer): void {
    const part = chunk.subarray(0, this.#leftBytes);
    this.#leftBytes -= part.length;
    if (this.#leftBytes > 0) {
      this.#target.write(part);
    } else {
      // What has passed is delivered; the other end hears of the cut after it.
      this.isBroken = true;
      this.set({ kind: 'swallow' });
      this.#target.end(part);
      this.#endSource();
    }
  }

  #carryLater(chunk: Buffer, delayMs: number): void {
    const passed = new Promise((resolve) => setTimeout(resolve, delayMs));
    this.#underwayCount++;
    this.#underway = this.#underway
      .then(() => passed)
      .then(() => {
        this.#underwayCount--;
        this.#target.write(chunk);
      });
  }
}

async function listen(port: number): Promise<Server> {
  const listener = createServer().listen(port, '127.0.0.1');
  await once(listener, 'listening');
  return listener;
}

function carries({ requests }: Link, text: string): boolean {
  return requests.text.toLowerCase().includes(text);
}
