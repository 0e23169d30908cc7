// Bugs in the store on PostgreSQL: in its SQL, and in the client.
import { mutant } from './mutant.js';

const SCHEMA = 'src/stores/postgres/schema.ts';
const STORE = 'src/stores/postgres/postgres-store.ts';
const CONFORMANCE_TEST = 'test/postgres-conformance.test.ts';
const STORE_TEST = 'test/postgres-store.test.ts';
const FAULTS_TEST = 'test/postgres-faults.test.ts';

export const POSTGRES_MUTANTS = [
  mutant(
    'postgres: now() instead of clock_timestamp()',
    SCHEMA,
    "clock_timestamp() + _lease_ms * interval '1 millisecond', false, false, _info\n",
    "now() + _lease_ms * interval '1 millisecond', false, false, _info\n",
    [STORE_TEST],
  ),
  mutant(
    'postgres: NOTIFY before the commit of the hand-over',
    STORE,
    "    const { reply, sent } = await this.#sendFor(request, this.#call('release', values));",
    `    const { schema } = this.#settings;
    const text = "select to_json(count(" + schema + ".send(client, json_build_object('type', 'granted', 'owner', owner, 'fence', 1))))::text";
    await this.#requests.send(text + ' from ' + schema + '.wait where name = $1', [name]);
    const { reply, sent } = await this.#sendFor(request, this.#call('release', values));`,
    [FAULTS_TEST],
  ),
  mutant(
    'postgres: no NOTIFY to the new holder',
    SCHEMA,
    'perform holdfast.send(_first.client,\n',
    "perform json_build_array('',\n",
    [STORE_TEST],
  ),
  mutant(
    'postgres: the fence of a removed lock is forgotten',
    SCHEMA,
    '    return (select floor from holdfast.meta);\n',
    '    return 0;\n',
    [STORE_TEST],
  ),
  mutant(
    'postgres: the fence is the time alone',
    SCHEMA,
    'select greatest(case when _last = 0 then holdfast.read_floor() else _last end + 1,',
    'select greatest(0,',
    [STORE_TEST],
  ),
  mutant(
    'postgres: adopting keeps the fence',
    SCHEMA,
    'if found then _fence := holdfast.put(',
    'if found then _fence := (select fence from holdfast.lock where kind = _kind and name = _name); perform holdfast.put(',
    [CONFORMANCE_TEST],
  ),
  mutant(
    'postgres: the last waiter is served first',
    SCHEMA,
    'w.name = _lock.name order by w.place limit 1;',
    'w.name = _lock.name order by w.place desc limit 1;',
    [CONFORMANCE_TEST],
  ),
  mutant(
    'postgres: a dead client is served',
    SCHEMA,
    'c.alive > holdfast.later(-${DEAD_MS})) as is_alive\n',
    'true) as is_alive\n',
    [STORE_TEST],
  ),
  mutant(
    'postgres: a reservation lasts the whole lease',
    SCHEMA,
    'least(_first.lease_ms, ${RESERVED_MS})',
    '_first.lease_ms',
    [STORE_TEST],
  ),
  mutant(
    'postgres: a client that does not confirm keeps its places',
    SCHEMA,
    'if _ended.is_reserved and _ended.client <> _client then',
    'if false then',
    [STORE_TEST],
  ),
  mutant(
    'postgres: a lock whose holder died is not handed over',
    SCHEMA,
    'select distinct kind, name from holdfast.wait where client = _client) as w',
    'select distinct kind, name from holdfast.wait where false) as w',
    [STORE_TEST],
  ),
  mutant(
    'postgres: an extension shortens the lease',
    SCHEMA,
    'else greatest(ends, holdfast.later(_lease_ms)) end',
    'else holdfast.later(_lease_ms) end',
    [CONFORMANCE_TEST],
  ),
  mutant(
    'postgres: a repeated release is not recognised',
    SCHEMA,
    'coalesce(_lock.fence = _fence, false)',
    'false',
    [CONFORMANCE_TEST],
  ),
  mutant(
    'postgres: a free mutex is released by any owner',
    SCHEMA,
    'hold.name = _name and owner = _owner and ends > clock_timestamp();',
    'hold.name = _name;',
    [CONFORMANCE_TEST],
  ),
  mutant(
    'postgres: a sweep removes locks that are held',
    SCHEMA,
    'continue when exists (select from holdfast.hold where kind = _lock.kind and name = _lock.name and ends > clock_timestamp())\n      or exists',
    'continue when exists',
    [STORE_TEST],
  ),
  mutant(
    'postgres: a smaller fence passes the guard',
    SCHEMA,
    'if _seen > _fence then',
    'if false then',
    [STORE_TEST],
  ),
  mutant(
    'postgres: the guard works outside of a transaction',
    'src/stores/postgres/transaction.ts',
    'if (isInTransaction(tx)) return;',
    'if (tx !== undefined) return;',
    [STORE_TEST],
  ),
  mutant(
    'postgres: serialization failures are not repeated',
    'src/stores/postgres/postgres-errors.ts',
    'return REPEATABLE.has(sqlStateOf(error));',
    'return error === REPEATABLE;',
    [CONFORMANCE_TEST],
  ),
  mutant(
    'postgres: a waiter that has its grant from another reply is released',
    STORE,
    '      if (!this.#abandoned.has(owner)) continue;\n',
    '',
    ['src/stores/postgres/postgres-store.test.ts'],
  ),
  mutant(
    'postgres: waiters do not send again after a lost reply',
    STORE,
    '      this.#waiters.retryAll((request) => request.kind === kind && request.name === name);\n',
    '',
    ['src/stores/postgres/postgres-store.test.ts'],
  ),
  mutant(
    'postgres: a deaf connection counts as working',
    'src/stores/postgres/listener.ts',
    'return this.#connection !== undefined && this.#lastMessageMs !== undefined;',
    'return this.#connection !== undefined;',
    [STORE_TEST],
  ),
];
