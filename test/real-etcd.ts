import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './real-redis.ts';
import { suspendProcess } from './suspend-process.ts';

/** One member of etcd on loopback, with data in a folder of its own. */
export class EtcdMember {
  readonly name: string;
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-etcd-'));
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;

  constructor(name: string, port: number, args: readonly string[]) {
    this.name = name;
    this.port = port;
    this.#args = args;
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Resolves when the member accepts connections. */
  async start(): Promise<void> {
    const args = ['--name', this.name, '--data-dir', join(this.#folder, 'data'), ...this.#args];
    const child = spawn('etcd', [...args, '--logger=zap', '--log-level=error'], {
      stdio: 'ignore',
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
    });
    this.#process = child;
    await accepts(this.port);
  }

  /** `kill -9`: the data stay. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  pause(): void {
    suspendProcess(this.#process!.pid!);
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  forgetData(): void {
    rmSync(join(this.#folder, 'data'), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.#end('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: 'SIGKILL'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

/** Starts members that form one cluster, and waits for their leader. */
export async function startEtcd(count: number, ...flags: readonly string[]): Promise<EtcdCluster> {
  const ports = await freePorts(2 * count);
  const peers = ports.slice(count).map((port) => `http://127.0.0.1:${port}`);
  const cluster = peers.map((peer, index) => `m${index}=${peer}`).join(',');
  const scheme = flags.includes('--cert-file') ? 'https' : 'http';
  const members = peers.map((peer, index) => {
    const client = `${scheme}://127.0.0.1:${ports[index]}`;
    const args = ['--listen-client-urls', client, '--advertise-client-urls', client];
    args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
    args.push('--initial-cluster', cluster, ...flags);
    return new EtcdMember(`m${index}`, ports[index]!, args);
  });
  await Promise.all(members.map((member) => member.start()));
  const started = new EtcdCluster(members);
  if (scheme === 'http') await started.leader();
  return started;
}

export class EtcdCluster {
  readonly members: readonly EtcdMember[];

  constructor(members: readonly EtcdMember[]) {
    this.members = members;
  }

  get endpoints(): string[] {
    return this.members.map(({ endpoint }) => endpoint);
  }

  /** Sends a request to the JSON gateway of a member, as an operator does with etcdctl. */
  async control(path: string, body: object = {}, member = this.members[0]!): Promise<Control> {
    const signal = AbortSignal.timeout(5000);
    const request = { method: 'POST', body: JSON.stringify(body), signal };
    const response = await fetch(`http://${member.endpoint}/v3/${path}`, request);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as Control;
  }

  /** The member that is the leader, among those that reply. */
  async leader(members = this.members): Promise<EtcdMember> {
    for (;;) {
      for (const member of members) {
        const status = await this.control('maintenance/status', {}, member).catch(() => undefined);
        if (status?.leader !== undefined && status.leader === status.header.member_id)
          return member;
      }
      await pause(50);
    }
  }

  async stop(): Promise<void> {
    for (const member of this.members) member.resume();
    await Promise.all(this.members.map((member) => member.stop()));
  }
}

interface Control {
  readonly header: { readonly member_id: string; readonly revision: string };
  readonly leader?: string;
  /** In base64. */
  readonly kvs?: readonly { readonly key: string; readonly value: string }[];
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

async function accepts(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await pause(50);
  }
}
