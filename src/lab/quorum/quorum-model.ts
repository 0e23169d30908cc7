import {
  BALLOT_RULES,
  type Ballot,
  type BallotRules,
  majorityOf,
  type NodeLock,
  needsConfirm,
  VOTING_RULES,
  type VotingRules,
} from '../../stores/index.ts';

/**
 * A model of the quorum store: some clients request one lock of some nodes, once each. Messages arrive late or never,
 * and a request for a vote may arrive twice. A node may restart and lose its data. The rules are those of the store; a
 * variant replaces some of them.
 */
export interface QuorumModel {
  /**
   * `right`: a node ends a lease only after the client has given it up by its own clock. Then one client at most holds
   * the lock, and each grant has a larger fence than the one before.
   * `any`: a node may end any lease at any time, and two clients may hold the lock. Even then a client that requests
   * votes after a grant gets a larger fence, and no two clients get the same one.
   */
  readonly clocks: 'right' | 'any';
  readonly nodes: number;
  /** The clock of each client, as the hint of its request. Their number is that of the clients. */
  readonly hints: readonly number[];
  /** How many requests for a vote may arrive a second time. */
  readonly repeats: number;
  /** How many restarts without data there may be. */
  readonly restarts: number;
  readonly rules: ModelRules;
}

export interface ModelRules extends VotingRules, BallotRules {
  /** What ends a lease on a node, apart from a release. */
  expire(lock: NodeLock): void;
  /** Whether a node that lost its data stays out until it is admitted again. */
  readonly staysOut: boolean;
  /** Whether it stays out until all leases from before have ended. */
  readonly waits: boolean;
  /** From how many voting nodes it gets its floor. */
  floorSources(nodeCount: number): number;
}

export const MODEL_RULES: ModelRules = {
  ...VOTING_RULES,
  ...BALLOT_RULES,
  expire(lock) {
    lock.owner = '';
  },
  staysOut: true,
  waits: true,
  floorSources: majorityOf,
};

export interface ModelState {
  readonly nodes: ModelNode[];
  readonly clients: ModelClient[];
  /** The largest fence that was granted. */
  granted: number;
  /** The promise that a grant broke. Empty: none. */
  violation: string;
  repeatsLeft: number;
  restartsLeft: number;
}

interface ModelNode extends NodeLock {
  isOut: boolean;
  /** The clients that requested votes before the restart, and may still count one of this node. */
  earlier: number[];
  readonly links: ModelLink[];
}

/** The messages between a node and a client. */
interface ModelLink {
  /** How often the request for the vote has arrived. */
  requests: number;
  /** The fence of a vote whose reply has not arrived. 0: there is none. */
  reply: number;
  isConfirmSent: boolean;
  hasConfirmed: boolean;
}

interface ModelClient {
  phase: 'idle' | 'voting' | 'granted' | 'over';
  /** The largest fence that was granted when it requested votes. */
  grantedBefore: number;
  readonly ballot: Ballot;
}

/** A step, as a function of a state that it may change. */
export interface ModelStep {
  /** A function: only the steps of a failure are printed. */
  text(): string;
  run(state: ModelState): void;
}

export function initialState({ nodes, hints, repeats, restarts }: QuorumModel): ModelState {
  return {
    nodes: Array.from({ length: nodes }, () => ({
      owner: '',
      fence: 0,
      floor: 0,
      isOut: false,
      earlier: [],
      links: hints.map(newLink),
    })),
    clients: hints.map(() => ({
      phase: 'idle',
      grantedBefore: 0,
      ballot: { votes: new Array<number>(nodes).fill(0), fence: 0 },
    })),
    granted: 0,
    violation: '',
    repeatsLeft: repeats,
    restartsLeft: restarts,
  };
}

function newLink(): ModelLink {
  return { requests: 0, reply: 0, isConfirmSent: false, hasConfirmed: false };
}

/** All steps that can happen next. None, if no client can be granted the lock any more. */
export function stepsOf(model: QuorumModel, state: ModelState): ModelStep[] {
  if (state.clients.every(({ phase }) => phase === 'granted' || phase === 'over')) return [];
  const steps: ModelStep[] = [];
  for (const client of state.clients.keys()) steps.push(...clientSteps(model, state, client));
  for (const node of state.nodes.keys()) steps.push(...nodeSteps(model, state, node));
  return steps;
}

function clientSteps(model: QuorumModel, state: ModelState, client: number): ModelStep[] {
  const { phase } = state.clients[client]!;
  const name = clientName(client);
  if (phase === 'idle') {
    return [{ text: () => `${name} requests votes`, run: (next) => begin(next, client) }];
  }
  const links = state.nodes.flatMap((_, node) => linkSteps(model, state, client, node));
  if (phase === 'over') return links;
  const text = (): string =>
    phase === 'granted' ? `${name} releases the lock` : `${name} gives up`;
  return [...links, { text, run: (next) => end(next, client) }];
}

function begin({ clients, granted }: ModelState, index: number): void {
  const client = clients[index]!;
  client.phase = 'voting';
  client.grantedBefore = granted;
}

function end(state: ModelState, index: number): void {
  state.clients[index]!.phase = 'over';
  forgetReplies(state, index);
}

/** Replies to a client that has its result change nothing: removes them, so that fewer states differ. */
function forgetReplies({ nodes, clients }: ModelState, index: number): void {
  clients[index]!.ballot.votes.fill(0);
  for (const { links } of nodes) {
    links[index]!.reply = 0;
    links[index]!.hasConfirmed = false;
  }
}

/** The messages between one client and one node, each of which may arrive now. */
function linkSteps(
  model: QuorumModel,
  state: ModelState,
  client: number,
  node: number,
): ModelStep[] {
  const { rules } = model;
  const { phase } = state.clients[client]!;
  const { links, isOut } = state.nodes[node]!;
  const { requests, reply, isConfirmSent, hasConfirmed } = links[client]!;
  const owner = clientName(client);
  const name = nodeName(node);
  const steps: ModelStep[] = [];
  if (!isOut && requests === 0) {
    steps.push({
      text: () => `the request of ${owner} arrives at ${name}`,
      run: (next) => receiveRequest(model, next, client, node),
    });
  }
  if (!isOut && requests === 1 && state.repeatsLeft > 0) {
    const text = (): string => `the request of ${owner} arrives at ${name} again`;
    steps.push({ text, run: (next) => receiveRequest(model, next, client, node) });
    if (reply > 0) {
      steps.push({
        text: () => `${text()}, and the first reply is lost`,
        run: (next) => {
          next.nodes[node]!.links[client]!.reply = 0;
          receiveRequest(model, next, client, node);
        },
      });
    }
  }
  if (phase === 'voting' && reply > 0) {
    steps.push({
      text: () => `${owner} receives the vote of ${name} with fence ${reply}`,
      run: (next) => receiveVote(model, next, client, node),
    });
  }
  if (!isOut && isConfirmSent) {
    steps.push({
      text: () => `the fence of ${owner} arrives at ${name}`,
      run: (next) => {
        const { fence } = next.clients[client]!.ballot;
        const isConfirmed = rules.confirm(next.nodes[node]!, owner, fence);
        next.nodes[node]!.links[client]!.isConfirmSent = false;
        if (isConfirmed && phase === 'voting') next.nodes[node]!.links[client]!.hasConfirmed = true;
      },
    });
  }
  if (phase === 'voting' && hasConfirmed) {
    steps.push({
      text: () => `${owner} receives the confirmation of ${name}`,
      run: (next) => receiveConfirmation(model, next, client, node),
    });
  }
  if (phase === 'over') {
    steps.push({
      text: () => `the release of ${owner} arrives at ${name}`,
      run: (next) => {
        const { fence } = next.clients[client]!.ballot;
        rules.release(next.nodes[node]!, owner, fence);
      },
    });
  }
  return steps;
}

function receiveRequest(
  { rules, hints }: QuorumModel,
  state: ModelState,
  client: number,
  index: number,
): void {
  const node = state.nodes[index]!;
  const link = node.links[client]!;
  state.repeatsLeft -= link.requests;
  link.requests++;
  const fence = rules.vote(node, clientName(client), hints[client]!) ?? 0;
  const { phase, ballot } = state.clients[client]!;
  if (phase === 'voting' && ballot.votes[index] === 0) link.reply ||= fence;
}

function receiveVote(model: QuorumModel, state: ModelState, client: number, index: number): void {
  const { ballot } = state.clients[client]!;
  const link = state.nodes[index]!.links[client]!;
  const isChosen = ballot.fence > 0;
  model.rules.count(ballot, index, link.reply, 0);
  link.reply = 0;
  for (const [other, { links }] of state.nodes.entries()) {
    const isDue = (other === index || !isChosen) && needsConfirm(ballot, other);
    if (isDue) links[client]!.isConfirmSent = true;
  }
  grantIfWon(model, state, client);
}

function receiveConfirmation(
  model: QuorumModel,
  state: ModelState,
  client: number,
  node: number,
): void {
  const { ballot } = state.clients[client]!;
  state.nodes[node]!.links[client]!.hasConfirmed = false;
  ballot.votes[node] = ballot.fence;
  grantIfWon(model, state, client);
}

function grantIfWon(model: QuorumModel, state: ModelState, index: number): void {
  const client = state.clients[index]!;
  if (!model.rules.isWon(client.ballot)) return;
  state.violation = violationOf(model, state, client);
  client.phase = 'granted';
  forgetReplies(state, index);
  state.granted = Math.max(state.granted, client.ballot.fence);
}

/** Which promise the grant to this client breaks. Empty: none. */
function violationOf({ clocks }: QuorumModel, state: ModelState, client: ModelClient): string {
  const { fence } = client.ballot;
  const least = clocks === 'right' ? state.granted : client.grantedBefore;
  if (fence <= least) return `fence ${fence} is granted after fence ${least}`;
  const others = state.clients.filter((other) => other !== client && other.ballot.fence > 0);
  if (others.some(({ phase, ballot }) => phase === 'granted' && ballot.fence === fence)) {
    return `fence ${fence} is granted twice`;
  }
  const isShared = clocks === 'right' && others.some(({ phase }) => phase === 'granted');
  return isShared ? 'two clients hold the lock' : '';
}

function nodeSteps(model: QuorumModel, state: ModelState, node: number): ModelStep[] {
  const { rules } = model;
  const { owner, isOut } = state.nodes[node]!;
  const name = nodeName(node);
  const steps: ModelStep[] = [];
  if (owner !== '' && mayEnd(model, state, owner)) {
    steps.push({
      text: () => `${name} ends the lease of ${owner}`,
      run: ({ nodes }) => rules.expire(nodes[node]!),
    });
  }
  if (state.restartsLeft > 0 && !isOut) {
    steps.push({
      text: () => `${name} restarts without its data`,
      run: (next) => restart(model, next, node),
    });
  }
  if (isOut) {
    const floor = floorFor(model, state);
    if (floor !== undefined) {
      steps.push({
        text: () => `${name} votes again, with the floor ${floor} of the others`,
        run: (next) => admit(model, next, node, floor),
      });
    }
  }
  return steps;
}

function mayEnd({ clocks }: QuorumModel, { clients }: ModelState, owner: string): boolean {
  return clocks === 'any' || clients[clientIndex(owner)]!.phase === 'over';
}

function restart({ rules }: QuorumModel, state: ModelState, index: number): void {
  state.restartsLeft--;
  const node = state.nodes[index]!;
  node.owner = '';
  node.fence = 0;
  node.floor = 0;
  node.isOut = rules.staysOut;
  const clients = [...state.clients.keys()];
  node.earlier = rules.staysOut ? clients.filter((client) => isActive(state.clients[client]!)) : [];
}

/** The smallest floor that the voting nodes may give: from those that know least. Undefined: too few vote. */
function floorFor({ rules, nodes }: QuorumModel, state: ModelState): number | undefined {
  const known = state.nodes.filter(({ isOut }) => !isOut);
  const count = rules.floorSources(nodes);
  if (known.length < count) return undefined;
  const fences = known.map(({ fence, floor }) => Math.max(fence, floor)).sort((a, b) => a - b);
  return fences[count - 1];
}

/**
 * The wait is as long as a lease. After it, a client from before the restart holds the lock only if it has extended its
 * lease on a majority of the other nodes.
 */
function admit({ rules }: QuorumModel, state: ModelState, index: number, floor: number): void {
  const node = state.nodes[index]!;
  for (const earlier of rules.waits ? node.earlier : []) {
    const client = state.clients[earlier]!;
    const owned = state.nodes.filter(({ owner }) => owner === clientName(earlier)).length;
    const isExtended = client.phase === 'granted' && owned >= majorityOf(state.nodes.length);
    if (isActive(client) && !isExtended) end(state, earlier);
  }
  node.isOut = false;
  node.earlier = [];
  node.floor = floor;
}

function isActive({ phase }: ModelClient): boolean {
  return phase === 'voting' || phase === 'granted';
}

/** Nodes are interchangeable: states that differ only in their order have the same key. */
export function keyOf(state: ModelState): string {
  const { clients, granted, violation, repeatsLeft, restartsLeft } = state;
  let key = `${granted}${violation} ${repeatsLeft}${restartsLeft}`;
  for (const { phase, ballot, grantedBefore } of clients) {
    key += ` ${phase}${ballot.fence}.${grantedBefore}`;
  }
  const columns = state.nodes.map((node, index) => columnOf(node, clients, index));
  return key + columns.sort().join('');
}

function columnOf(node: ModelNode, clients: readonly ModelClient[], index: number): string {
  let column = `\n${node.owner}${node.fence}.${node.floor}`;
  if (node.isOut) column += `x${node.earlier.join('')}`;
  for (const [client, link] of node.links.entries()) {
    const sent = (link.isConfirmSent ? 1 : 0) + (link.hasConfirmed ? 2 : 0);
    column += `|${link.requests}${sent}${link.reply}.${clients[client]!.ballot.votes[index]}`;
  }
  return column;
}

export function copyOf(state: ModelState): ModelState {
  return {
    ...state,
    nodes: state.nodes.map((node) => ({
      ...node,
      links: node.links.map((link) => ({ ...link })),
    })),
    clients: state.clients.map(({ phase, grantedBefore, ballot: { votes, fence } }) => ({
      phase,
      grantedBefore,
      ballot: { votes: [...votes], fence },
    })),
  };
}

function clientName(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

function clientIndex(name: string): number {
  return name.charCodeAt(0) - 'A'.charCodeAt(0);
}

function nodeName(index: number): string {
  return `node ${index + 1}`;
}
