import { bool, int, Message, message, repeated, text } from './protobuf.ts';

/**
 * The requests of etcd's v3 API that the store sends, with the field numbers of etcd's rpc.proto, kv.proto and
 * auth.proto. Only the fields that the store uses are listed. Lease ids of this client are below 2^53: see SharedLease.
 */
export interface Method<Request extends object, Reply extends object> {
  readonly path: string;
  readonly request: Message<Request>;
  readonly reply: Message<Reply>;
}

/** Part of every reply. */
export interface Header {
  readonly revision: number;
  readonly raftTerm: number;
}

const HEADER = new Message<Header>({ revision: int(3), raftTerm: int(4) });

export interface KeyValue {
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: string;
  readonly lease: number;
}

const KEY_VALUE = new Message<KeyValue>({
  key: text(1),
  createRevision: int(2),
  modRevision: int(3),
  value: text(5),
  lease: int(6),
});

export interface RangeRequest {
  readonly key: string;
  readonly rangeEnd?: string;
  readonly limit?: number;
  readonly revision?: number;
  readonly sortOrder?: number;
  readonly sortTarget?: number;
  readonly countOnly?: boolean;
  readonly minCreateRevision?: number;
}

const RANGE_REQUEST = new Message<RangeRequest>({
  key: text(1),
  rangeEnd: text(2),
  limit: int(3),
  revision: int(4),
  sortOrder: int(5),
  sortTarget: int(6),
  countOnly: bool(9),
  minCreateRevision: int(12),
});

export const ASCENDING = 1;
export const BY_CREATION = 2;

export interface RangeReply {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

const RANGE_REPLY = new Message<RangeReply>({
  header: message(1, HEADER),
  kvs: repeated(message(2, KEY_VALUE)),
  more: bool(3),
});

interface PutRequest {
  readonly key: string;
  readonly value: string;
  readonly lease: number;
}

const PUT_REQUEST = new Message<PutRequest>({ key: text(1), value: text(2), lease: int(3) });

interface DeleteRequest {
  readonly key: string;
}

const DELETE_REQUEST = new Message<DeleteRequest>({ key: text(1) });

/** One field is given. */
export interface Operation {
  readonly range?: RangeRequest;
  readonly put?: PutRequest;
  readonly delete?: DeleteRequest;
  readonly txn?: TxnRequest;
}

const OPERATION = new Message<Operation>({
  range: message(1, RANGE_REQUEST),
  put: message(2, PUT_REQUEST),
  delete: message(3, DELETE_REQUEST),
  txn: message(4, () => TXN.request),
});

interface OperationReply {
  readonly range: RangeReply | undefined;
  readonly txn: TxnReply | undefined;
}

const OPERATION_REPLY = new Message<OperationReply>({
  range: message(1, RANGE_REPLY),
  txn: message(4, () => TXN.reply),
});

/** With `rangeEnd`, all keys of the range must pass. A key that does not exist has the revisions 0. */
export interface Compare {
  readonly result: number;
  readonly target: number;
  readonly key: string;
  readonly createRevision?: number;
  readonly modRevision?: number;
  readonly rangeEnd?: string;
}

const COMPARE = new Message<Compare>({
  result: int(1),
  target: int(2),
  key: text(3),
  createRevision: int(5),
  modRevision: int(6),
  rangeEnd: text(64),
});

export const EQUAL = 0;
export const GREATER = 1;
export const LESS = 2;
export const CREATE_REVISION = 1;
export const MOD_REVISION = 2;

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

export interface TxnReply {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly OperationReply[];
}

export const TXN: Method<TxnRequest, TxnReply> = {
  path: '/etcdserverpb.KV/Txn',
  request: new Message<TxnRequest>({
    compare: repeated(message(1, COMPARE)),
    success: repeated(message(2, OPERATION)),
    failure: repeated(message(3, OPERATION)),
  }),
  reply: new Message<TxnReply>({
    header: message(1, HEADER),
    succeeded: bool(2),
    responses: repeated(message(3, OPERATION_REPLY)),
  }),
};

export const RANGE: Method<RangeRequest, RangeReply> = {
  path: '/etcdserverpb.KV/Range',
  request: RANGE_REQUEST,
  reply: RANGE_REPLY,
};

interface LeaseReply {
  readonly header: Header;
  /** In seconds. 0, or left out as -1: the lease does not exist. */
  readonly ttl: number;
}

const LEASE_REPLY = new Message<LeaseReply>({ header: message(1, HEADER), ttl: int(3) });

interface LeaseGrantRequest {
  readonly ttl: number;
  readonly id: number;
}

export const LEASE_GRANT: Method<LeaseGrantRequest, LeaseReply> = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  request: new Message<LeaseGrantRequest>({ ttl: int(1), id: int(2) }),
  reply: LEASE_REPLY,
};

interface LeaseRequest {
  readonly id: number;
}

const LEASE_REQUEST = new Message<LeaseRequest>({ id: int(1) });

export const LEASE_KEEP_ALIVE: Method<LeaseRequest, LeaseReply> = {
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  request: LEASE_REQUEST,
  reply: LEASE_REPLY,
};

export const LEASE_TIME_TO_LIVE: Method<LeaseRequest, LeaseReply> = {
  path: '/etcdserverpb.Lease/LeaseTimeToLive',
  request: LEASE_REQUEST,
  reply: LEASE_REPLY,
};

interface AuthenticateRequest {
  readonly name: string;
  readonly password: string;
}

interface AuthenticateReply {
  readonly token: string;
}

export const AUTHENTICATE: Method<AuthenticateRequest, AuthenticateReply> = {
  path: '/etcdserverpb.Auth/Authenticate',
  request: new Message<AuthenticateRequest>({ name: text(1), password: text(2) }),
  reply: new Message<AuthenticateReply>({ token: text(2) }),
};

export interface WatchCreate {
  readonly key: string;
  readonly rangeEnd: string;
  readonly startRevision: number;
  /** Repeated, so that NO_PUT, whose number is 0, is written too. */
  readonly filters: readonly number[];
  readonly watchId: number;
}

export const NO_PUT = 0;
export const NO_DELETE = 1;
export const DELETE = 1;

const WATCH_CREATE = new Message<WatchCreate>({
  key: text(1),
  rangeEnd: text(2),
  startRevision: int(3),
  filters: repeated(int(5)),
  watchId: int(7),
});

/** One field is given. */
interface WatchRequest {
  readonly create?: WatchCreate;
  readonly cancel?: { readonly watchId: number };
}

export interface WatchEvent {
  /** 0 for a put, or DELETE. */
  readonly type: number;
  readonly kv: KeyValue;
}

export interface WatchReply {
  readonly header: Header;
  readonly watchId: number;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly events: readonly WatchEvent[];
}

const WATCH_EVENT = new Message<WatchEvent>({ type: int(1), kv: message(2, KEY_VALUE) });

export const WATCH: Method<WatchRequest, WatchReply> = {
  path: '/etcdserverpb.Watch/Watch',
  request: new Message<WatchRequest>({
    create: message(1, WATCH_CREATE),
    cancel: message(2, new Message<{ readonly watchId: number }>({ watchId: int(1) })),
  }),
  reply: new Message<WatchReply>({
    header: message(1, HEADER),
    watchId: int(2),
    canceled: bool(4),
    compactRevision: int(5),
    events: repeated(message(11, WATCH_EVENT)),
  }),
};
