-- Holdfast: locks in PostgreSQL 12 or later. Schema version 1.
create schema if not exists holdfast;

-- floor: no lock whose row was removed had a larger fence.
create table holdfast.meta (
  version integer not null,
  floor bigint not null
);
insert into holdfast.meta values (1, 0);

-- fence: of the last grant, or 0. is_held, is_queued: whether there are rows in hold, in wait.
create table holdfast.lock (
  kind text not null,
  name text collate "C" not null,
  slots bigint not null,
  fence bigint not null,
  is_held boolean not null,
  is_queued boolean not null,
  touched timestamptz not null,
  primary key (kind, name)
) with (fillfactor = 50);

-- is_reserved: the lock was handed over to another process, which has not confirmed it.
create table holdfast.hold (
  kind text not null,
  name text collate "C" not null,
  owner text collate "C" not null,
  client text collate "C" not null,
  permits bigint not null,
  fence bigint not null,
  since timestamptz not null,
  ends timestamptz not null,
  is_reserved boolean not null,
  is_watching boolean not null,
  info text not null,
  primary key (kind, name, owner)
) with (fillfactor = 50);
create index on holdfast.hold (client) where is_reserved;

create table holdfast.wait (
  kind text not null,
  name text collate "C" not null,
  owner text collate "C" not null,
  client text collate "C" not null,
  place bigint generated always as identity,
  permits bigint not null,
  lease_ms double precision not null,
  info text not null,
  primary key (kind, name, owner)
);
create index on holdfast.wait (kind, name, place);
create index on holdfast.wait (client);

-- The processes that wait.
create table holdfast.client (
  client text collate "C" primary key,
  alive timestamptz not null
) with (fillfactor = 50);

-- The largest fence that a transaction of the user was guarded by: see fenced().
create table holdfast.guard (
  name text collate "C" primary key,
  fence bigint not null,
  touched timestamptz not null
) with (fillfactor = 50);

create function holdfast.later(_ms double precision) returns timestamptz language sql volatile as $$
  select clock_timestamp() + _ms * interval '1 millisecond'
$$;

create function holdfast.ms_until(_time timestamptz) returns double precision language sql volatile as $$
  select (extract(epoch from _time - clock_timestamp()) * 1000)::double precision
$$;

-- A row that was removed is gone only after its fence is in the floor: a statement that begins now reads it. A transaction
-- with an older snapshot cannot: FOR SHARE makes it fail and start again.
create function holdfast.read_floor() returns bigint language plpgsql volatile as $$
begin
  if current_setting('transaction_isolation') = 'read committed' then
    return (select floor from holdfast.meta);
  end if;
  return (select floor from holdfast.meta for share);
end $$;

-- The fence after this one: microseconds since 1970, unless the last one is larger. 0: the row of the lock is new.
create function holdfast.next_fence(_last bigint) returns bigint language sql volatile as $$
  select greatest(case when _last = 0 then holdfast.read_floor() else _last end + 1,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint)
$$;

-- Locks the row of a lock, and inserts it if there is none.
create function holdfast.opened(_kind text, _name text, _slots bigint) returns holdfast.lock
language plpgsql volatile as $$
declare
  _lock holdfast.lock;
begin
  loop
    update holdfast.lock set touched = clock_timestamp() where kind = _kind and name = _name returning * into _lock;
    if found then return _lock; end if;
    insert into holdfast.lock values (_kind, _name, _slots, 0, false, false, clock_timestamp()) on conflict do nothing;
  end loop;
end $$;

-- Sends a message to the process of a client. PostgreSQL delivers it when this transaction commits.
create function holdfast.send(_client text, _message json) returns void language sql volatile as $$
  select pg_notify('holdfast_' || _client, _message::text)
$$;

create function holdfast.is_alive(_client text) returns boolean language sql volatile as $$
  select exists (select from holdfast.client where client = _client and alive > holdfast.later(-15000))
$$;

-- Inserts a holder of a lock whose row is locked, with the next fence.
create function holdfast.put(
  _kind text, _name text, _owner text, _client text, _permits bigint, _lease_ms double precision, _info text
) returns bigint language plpgsql volatile as $$
declare
  _fence bigint;
begin
  update holdfast.lock set fence = holdfast.next_fence(fence), is_held = true
  where kind = _kind and name = _name returning fence into _fence;
  insert into holdfast.hold
  values (_kind, _name, _owner, _client, _permits, _fence, clock_timestamp(), holdfast.later(_lease_ms), false, false,
    _info);
  return _fence;
end $$;

-- Call it with the row of the lock as it is now. Ends expired leases, and hands the lock over to the first live waiters of the queue, until one does not fit. A waiter
-- of the calling client gets its whole lease and is returned as [kind, name, owner, fence]; that of another gets a
-- reservation and a message. A client that did not confirm a reservation loses its places in this queue.
create function holdfast.serve(_lock holdfast.lock, _client text) returns jsonb language plpgsql volatile as $$
declare
  _served jsonb := '[]';
  _used bigint := 0;
  _ended holdfast.hold;
  _first record;
begin
  if _lock.is_held then
    for _ended in
      delete from holdfast.hold where kind = _lock.kind and name = _lock.name and ends <= clock_timestamp() returning *
    loop
      if _ended.is_reserved and _ended.client <> _client then
        delete from holdfast.wait where kind = _lock.kind and name = _lock.name and client = _ended.client;
      end if;
    end loop;
    select coalesce(sum(permits), 0) into _used from holdfast.hold where kind = _lock.kind and name = _lock.name;
  end if;
  while _lock.is_queued and _used < _lock.slots loop
    select w.*, w.client = _client as is_own, exists (
      select from holdfast.client c where c.client = w.client and c.alive > holdfast.later(-15000)) as is_alive
    into _first from holdfast.wait w
    where w.kind = _lock.kind and w.name = _lock.name order by w.place limit 1;
    _lock.is_queued := found;
    exit when not found or _first.is_alive and _used + _first.permits > _lock.slots;
    delete from holdfast.wait where kind = _lock.kind and name = _lock.name and owner = _first.owner;
    continue when not _first.is_alive;
    _lock.fence := holdfast.next_fence(_lock.fence);
    insert into holdfast.hold values (_lock.kind, _lock.name, _first.owner, _first.client, _first.permits, _lock.fence,
      clock_timestamp(),
      holdfast.later(case when _first.is_own then _first.lease_ms else least(_first.lease_ms, 3000) end),
      not _first.is_own, false, _first.info);
    if _first.is_own then
      _served := _served || jsonb_build_array(jsonb_build_array(_lock.kind, _lock.name, _first.owner, _lock.fence));
    else
      perform holdfast.send(_first.client,
        json_build_object('type', 'granted', 'owner', _first.owner, 'fence', _lock.fence));
    end if;
    _used := _used + _first.permits;
  end loop;
  update holdfast.lock set fence = _lock.fence, is_held = _used > 0,
    is_queued = _lock.is_queued and exists (select from holdfast.wait where kind = _lock.kind and name = _lock.name)
  where kind = _lock.kind and name = _lock.name;
  return _served;
end $$;

-- Makes the lease of an owner end so long from now, or later if it ends later already, and confirms a reservation.
-- Returns the fence, or null. Call it after serve(), which removes leases that have ended.
create function holdfast.renew(_kind text, _name text, _owner text, _lease_ms double precision) returns bigint
language sql volatile as $$
  update holdfast.hold set ends = greatest(ends, holdfast.later(_lease_ms)), is_reserved = false
  where kind = _kind and name = _name and owner = _owner returning fence
$$;

-- Notes that a client is alive. Writes at most once a second, so that requests of one client do not wait for each other.
create function holdfast.stay_alive(_client text) returns void language plpgsql volatile as $$
begin
  if exists (select from holdfast.client where client = _client and alive > holdfast.later(-1000)) then return; end if;
  insert into holdfast.client values (_client, clock_timestamp())
  on conflict (client) do update set alive = clock_timestamp();
end $$;

-- How long until the first lease of a lock ends. 0: it has none.
create function holdfast.free_in_ms(_kind text, _name text) returns double precision language sql volatile as $$
  select greatest(0, coalesce(holdfast.ms_until(min(ends)), 0)) from holdfast.hold where kind = _kind and name = _name
$$;

create function holdfast.enqueue(
  _client text, _kind text, _name text, _owner text, _permits bigint, _lease_ms double precision, _info text
) returns void language plpgsql volatile as $$
declare
  _watcher record;
begin
  insert into holdfast.wait (kind, name, owner, client, permits, lease_ms, info)
  values (_kind, _name, _owner, _client, _permits, _lease_ms, _info) on conflict (kind, name, owner) do nothing;
  if found then
    update holdfast.lock set is_queued = true where kind = _kind and name = _name;
    -- Each holder that watches is notified once.
    for _watcher in
      update holdfast.hold set is_watching = false where kind = _kind and name = _name and is_watching
      returning client, owner
    loop
      perform holdfast.send(_watcher.client, json_build_object('type', 'contended', 'owner', _watcher.owner));
    end loop;
  end if;
  perform holdfast.stay_alive(_client);
end $$;

-- Takes the lock if it is free. If it is busy and _queues, the owner enters the queue, or keeps its place.
-- Returns the fence, or {fence | busy | slots, served}: the fence, the ms until the first lease ends, or the number of
-- slots that the lock is in use with.
create function holdfast.acquire(
  _client text, _kind text, _name text, _slots bigint, _owner text, _permits bigint, _lease_ms double precision,
  _info text, _queues boolean
) returns text language plpgsql volatile as $$
declare
  _lock holdfast.lock;
  _served jsonb;
  _fence bigint;
  _used bigint;
begin
  -- The lock is free, as nearly always. One statement: the time of the lease is read after the row is locked.
  with free as (
    update holdfast.lock
    set is_held = true, slots = _slots, fence = holdfast.next_fence(fence), touched = clock_timestamp()
    where kind = _kind and name = _name and not is_held and not is_queued returning fence)
  insert into holdfast.hold
  select _kind, _name, _owner, _client, _permits, fence, clock_timestamp(),
    clock_timestamp() + _lease_ms * interval '1 millisecond', false, false, _info
  from free returning fence into _fence;
  if found then return _fence; end if;
  _lock := holdfast.opened(_kind, _name, _slots);
  _served := holdfast.serve(_lock, _client);
  _fence := holdfast.renew(_kind, _name, _owner, _lease_ms);
  if _fence is null then
    select * into _lock from holdfast.lock where kind = _kind and name = _name;
    if _lock.slots <> _slots then
      if _lock.is_held or _lock.is_queued then
        return json_build_object('slots', _lock.slots, 'served', _served);
      end if;
      update holdfast.lock set slots = _slots where kind = _kind and name = _name;
    end if;
    select coalesce(sum(permits), 0) into _used from holdfast.hold where kind = _kind and name = _name;
    if not _lock.is_queued and _used + _permits <= _slots then
      _fence := holdfast.put(_kind, _name, _owner, _client, _permits, _lease_ms, _info);
    elsif _queues then
      perform holdfast.enqueue(_client, _kind, _name, _owner, _permits, _lease_ms, _info);
    end if;
  end if;
  if _fence is not null then return json_build_object('fence', _fence, 'served', _served); end if;
  return json_build_object('busy', holdfast.free_in_ms(_kind, _name), 'served', _served);
end $$;

-- Ends all leases and takes the lock, before any waiter. Returns as acquire() does, and as `lost` the former owners
-- of the calling client; those of other clients get a message.
create function holdfast.steal(
  _client text, _kind text, _name text, _slots bigint, _owner text, _permits bigint, _lease_ms double precision,
  _info text, _reason text
) returns text language plpgsql volatile as $$
declare
  _lock holdfast.lock;
  _served jsonb;
  _lost jsonb := '[]';
  _fence bigint;
  _former holdfast.hold;
  _message json;
begin
  _lock := holdfast.opened(_kind, _name, _slots);
  _served := holdfast.serve(_lock, _client);
  _fence := holdfast.renew(_kind, _name, _owner, _lease_ms);
  if _fence is not null then return json_build_object('fence', _fence, 'served', _served); end if;
  if _lock.slots <> _slots and exists (select from holdfast.wait where kind = _kind and name = _name) then
    return json_build_object('slots', _lock.slots, 'served', _served);
  end if;
  for _former in delete from holdfast.hold where kind = _kind and name = _name returning * loop
    if _former.client = _client then
      _lost := _lost || to_jsonb(_former.owner);
    else
      _message := json_build_object('type', 'stolen', 'owner', _former.owner, 'info', _info, 'reason', _reason);
      -- PostgreSQL limits a message to 8000 bytes.
      if octet_length(_message::text) > 7999 then
        _message := json_build_object('type', 'stolen', 'owner', _former.owner, 'info', null, 'reason', left(_reason, 100));
      end if;
      perform holdfast.send(_former.client, _message);
    end if;
  end loop;
  update holdfast.lock set slots = _slots where kind = _kind and name = _name;
  _fence := holdfast.put(_kind, _name, _owner, _client, _permits, _lease_ms, _info);
  -- The former holders may have had more permits.
  select * into _lock from holdfast.lock where kind = _kind and name = _name;
  _served := _served || holdfast.serve(_lock, _client);
  return json_build_object('fence', _fence, 'served', _served, 'lost', _lost);
end $$;

-- Takes several mutexes, all or none: [[name, owner, info], …]. All get one fence that is at least _min_fence.
create function holdfast.acquire_all(_client text, _requests text, _lease_ms double precision, _min_fence bigint)
returns text language plpgsql volatile as $$
declare
  _lock holdfast.lock;
  _served jsonb := '[]';
  _request record;
  _held bigint;
  _fence bigint := _min_fence;
  _is_busy boolean := false;
begin
  for _request in
    select value->>0 as name, value->>1 as owner from json_array_elements(_requests::json) order by (value->>0) collate "C"
  loop
    _lock := holdfast.opened('mutex', _request.name, 1);
    _served := _served || holdfast.serve(_lock, _client);
    select fence into _held from holdfast.hold
    where kind = 'mutex' and name = _request.name and owner = _request.owner;
    select * into _lock from holdfast.lock where kind = 'mutex' and name = _request.name;
    _is_busy := _is_busy or _held is null and (_lock.is_held or _lock.is_queued);
    exit when _is_busy;
    _fence := greatest(_fence, coalesce(_held, holdfast.next_fence(_lock.fence)));
  end loop;
  if _is_busy then return json_build_object('busy', 0, 'served', _served); end if;
  for _request in select value->>0 as name, value->>1 as owner, value->>2 as info from json_array_elements(_requests::json)
  loop
    insert into holdfast.hold values ('mutex', _request.name, _request.owner, _client, 1, _fence, clock_timestamp(),
      holdfast.later(_lease_ms), false, false, _request.info)
    on conflict (kind, name, owner) do update
    set fence = _fence, ends = greatest(hold.ends, excluded.ends), is_reserved = false;
    update holdfast.lock set fence = _fence, is_held = true where kind = 'mutex' and name = _request.name;
  end loop;
  return json_build_object('fence', _fence, 'served', _served);
end $$;

-- Takes the lock over from another owner, with a new fence.
create function holdfast.adopt(
  _client text, _kind text, _name text, _slots bigint, _owner text, _permits bigint, _lease_ms double precision,
  _info text, _from text
) returns text language plpgsql volatile as $$
declare
  _served jsonb := holdfast.serve(holdfast.opened(_kind, _name, _slots), _client);
  _fence bigint := holdfast.renew(_kind, _name, _owner, _lease_ms);
begin
  if _fence is null then
    delete from holdfast.hold where kind = _kind and name = _name and owner = _from;
    if found then _fence := holdfast.put(_kind, _name, _owner, _client, _permits, _lease_ms, _info); end if;
  end if;
  if _fence is not null then return json_build_object('fence', _fence, 'served', _served); end if;
  return json_build_object('busy', 0, 'served', _served);
end $$;

-- Makes the lease end so long from now: at least, or with _is_exact exactly. Returns false if it is not held.
create function holdfast.extend(_kind text, _name text, _owner text, _lease_ms double precision, _is_exact boolean)
returns text language plpgsql volatile as $$
declare
  _is_queued boolean;
  _is_held boolean;
begin
  update holdfast.lock set touched = clock_timestamp() where kind = _kind and name = _name
  returning is_queued into _is_queued;
  update holdfast.hold set is_reserved = false,
    ends = case when _is_exact then holdfast.later(_lease_ms) else greatest(ends, holdfast.later(_lease_ms)) end
  where kind = _kind and name = _name and owner = _owner and ends > clock_timestamp();
  _is_held := found;
  -- The first waiter may expect a later end.
  if _is_exact and _is_held and _is_queued then
    perform holdfast.send(client, json_build_object('type', 'refresh'))
    from (select client from holdfast.wait where kind = _kind and name = _name order by place limit 1) as first;
  end if;
  return to_json(_is_held);
end $$;

-- Ends the lease, or leaves the queue, and hands the lock over. Returns true, or {released, served}.
create function holdfast.release(_client text, _kind text, _name text, _owner text, _fence bigint) returns text
language plpgsql volatile as $$
declare
  _lock holdfast.lock;
  _is_released boolean;
begin
  -- A mutex without waiters, as nearly always.
  with free as (
    update holdfast.lock set is_held = false, touched = clock_timestamp()
    where kind = _kind and name = _name and is_held and not is_queued and slots = 1 returning name)
  -- By _name, not free.name: else the plan reads the index entries of all locks of this kind.
  delete from holdfast.hold using free
  where hold.kind = _kind and hold.name = _name and owner = _owner and ends > clock_timestamp();
  if found then
    -- A crash of the server may lose this release: then the lock ends with its lease. So it need not wait for the disk.
    set local synchronous_commit = off;
    return 'true';
  end if;
  -- is_held may be wrong now: serve() sets it.
  update holdfast.lock set touched = clock_timestamp(), is_held = true where kind = _kind and name = _name
  returning * into _lock;
  if not found then return 'false'; end if;
  delete from holdfast.hold where kind = _kind and name = _name and owner = _owner and ends > clock_timestamp();
  _is_released := found;
  if found then
    -- A lock of one slot had no other holder, so that serve() need not read any.
    _lock.is_held := _lock.slots > 1;
  else
    delete from holdfast.wait where kind = _kind and name = _name and owner = _owner;
    -- An earlier release may have succeeded while its reply was lost. Then its fence is still the last one.
    _is_released := coalesce(_lock.fence = _fence, false);
  end if;
  return json_build_object('released', _is_released, 'served', holdfast.serve(_lock, _client));
end $$;

-- Ends all leases and raises the fence. Returns {count, served}.
create function holdfast.force_release(_client text, _kind text, _name text) returns text language plpgsql volatile as $$
declare
  _lock holdfast.lock;
  _served jsonb;
  _count bigint;
begin
  update holdfast.lock set touched = clock_timestamp(), fence = holdfast.next_fence(fence)
  where kind = _kind and name = _name returning * into _lock;
  if not found then return json_build_object('count', 0, 'served', json_build_array()); end if;
  with ended as (delete from holdfast.hold where kind = _kind and name = _name returning ends)
  select count(*) into _count from ended where ends > clock_timestamp();
  _served := holdfast.serve(_lock, _client);
  return json_build_object('count', _count, 'served', _served);
end $$;

-- Returns whether a client waits for a lock that the owner holds. If none does, the owner gets a message when one does.
create function holdfast.watch(_kind text, _name text, _owner text) returns text language plpgsql volatile as $$
declare
  _is_queued boolean;
begin
  update holdfast.lock set touched = clock_timestamp() where kind = _kind and name = _name
  returning is_queued into _is_queued;
  update holdfast.hold set is_watching = not _is_queued
  where kind = _kind and name = _name and owner = _owner and ends > clock_timestamp();
  return to_json(found and _is_queued);
end $$;

-- Refreshes all waiters of a client by one call: shows that it is alive, and hands over locks that are free although no
-- holder released them. Returns
--   queued   the owners that are in a queue
--   granted  [owner, fence] of the reservations that the client has not confirmed: their messages may be lost
--   served   the waiters that this call served, as serve() returns them
--   next     the ms until the first lease ends of the locks that the client waits for, or null
create function holdfast.refresh(_client text, _probes boolean) returns text language plpgsql volatile as $$
declare
  _target record;
  _lock holdfast.lock;
  _served jsonb := '[]';
begin
  for _target in
    select w.kind, w.name from (select distinct kind, name from holdfast.wait where client = _client) as w
    where (
      not exists (select from holdfast.hold h where h.kind = w.kind and h.name = w.name)
      or exists (
        select from holdfast.hold h where h.kind = w.kind and h.name = w.name and h.ends <= clock_timestamp())
      or not holdfast.is_alive((
        select f.client from holdfast.wait f where f.kind = w.kind and f.name = w.name order by f.place limit 1)))
    order by w.kind, w.name
  loop
    update holdfast.lock set touched = clock_timestamp() where kind = _target.kind and name = _target.name
    returning * into _lock;
    _served := _served || holdfast.serve(_lock, _client);
  end loop;
  perform holdfast.stay_alive(_client);
  if _probes then perform holdfast.send(_client, json_build_object('type', 'probe')); end if;
  return json_build_object(
    'queued', (select coalesce(json_agg(owner), '[]') from holdfast.wait where client = _client),
    'granted', (select coalesce(json_agg(json_build_array(owner, fence)), '[]') from holdfast.hold
      where client = _client and is_reserved and ends > clock_timestamp()),
    'served', _served,
    'next', (select holdfast.ms_until(min(h.ends)) from holdfast.hold h
      join (select distinct kind, name from holdfast.wait where client = _client) w using (kind, name)));
end $$;

-- Holders in the order of their fences, as JSON.
create function holdfast.holders(_kind text, _name text, _limit bigint) returns json language sql volatile as $$
  select coalesce(json_agg(json_build_array(owner, permits, fence, -holdfast.ms_until(since), holdfast.ms_until(ends), info)
    order by fence), '[]')
  from (select * from holdfast.hold where kind = _kind and name = _name and ends > clock_timestamp()
    order by fence limit _limit) as held
$$;

-- Waiters in the order of the queue, as JSON. Without those of dead clients.
create function holdfast.waiters(_kind text, _name text, _limit bigint) returns json language sql volatile as $$
  select coalesce(json_agg(json_build_array(owner, permits, info) order by place), '[]')
  from (select w.* from holdfast.wait w join holdfast.client c using (client)
    where w.kind = _kind and w.name = _name and c.alive > holdfast.later(-15000) order by place limit _limit) as queued
$$;

create function holdfast.inspect(_kind text, _name text) returns text language sql volatile as $$
  select json_build_object('holders', holdfast.holders(_kind, _name, null), 'waiters', holdfast.waiters(_kind, _name, null))
$$;

create function holdfast.contention(_kind text, _name text, _owner text) returns text language sql volatile as $$
  select json_build_object(
    'holders', holdfast.holders(_kind, _name, 10),
    'place', (select count(*) from (select from holdfast.wait f
      where f.kind = w.kind and f.name = w.name and f.place <= w.place limit 1001) as before))
  from (select) as one left join holdfast.wait w on w.kind = _kind and w.name = _name and w.owner = _owner
$$;

-- The locks that have a holder or a waiter, in the order of their names. _name: only those of this name.
create function holdfast.list(_name text, _max_locks bigint, _max_parties bigint) returns text language sql volatile as $$
  select coalesce(json_agg(json_build_object('kind', kind, 'name', name, 'slots', slots,
    'holderCount', holders, 'waiterCount', waiters,
    'holders', holdfast.holders(kind, name, _max_parties), 'waiters', holdfast.waiters(kind, name, _max_parties))
    order by name, kind), '[]')
  from (
    select l.kind, l.name, l.slots, h.count as holders, w.count as waiters from holdfast.lock l
    cross join lateral (select count(*) from holdfast.hold h
      where h.kind = l.kind and h.name = l.name and h.ends > clock_timestamp()) as h
    cross join lateral (select count(*) from holdfast.wait w join holdfast.client c using (client)
      where w.kind = l.kind and w.name = l.name and c.alive > holdfast.later(-15000)) as w
    where (_name is null or l.name = _name) and (l.is_held or l.is_queued) and h.count + w.count > 0
    order by l.name, l.kind limit _max_locks) as used
$$;

-- Removes the rows of locks that were free for a day, of clients that are gone, and of guards that were not used for 30
-- days. The fences of removed locks go into the floor, so that fences rise whatever happens to the clock.
create function holdfast.sweep() returns text language plpgsql volatile as $$
declare
  _lock holdfast.lock;
  _floor bigint := 0;
  _count bigint := 0;
begin
  for _lock in
    select * from holdfast.lock where touched < clock_timestamp() - interval '1 day' limit 1000
    for update skip locked
  loop
    continue when exists (select from holdfast.hold where kind = _lock.kind and name = _lock.name and ends > clock_timestamp())
      or exists (select from holdfast.wait where kind = _lock.kind and name = _lock.name and holdfast.is_alive(client));
    delete from holdfast.hold where kind = _lock.kind and name = _lock.name;
    delete from holdfast.wait where kind = _lock.kind and name = _lock.name;
    delete from holdfast.lock where kind = _lock.kind and name = _lock.name;
    _floor := greatest(_floor, _lock.fence);
    _count := _count + 1;
  end loop;
  delete from holdfast.client where client in (
    select client from holdfast.client where alive < clock_timestamp() - interval '1 day' limit 1000
    for update skip locked);
  delete from holdfast.guard where name in (
    select name from holdfast.guard where touched < clock_timestamp() - interval '30 days' limit 1000
    for update skip locked);
  update holdfast.meta set floor = _floor where floor < _floor;
  return to_json(_count);
end $$;

-- Notes the fence of a lease for the transaction that calls it, and keeps the row locked until that ends. An exception for
-- a smaller fence aborts the transaction: it cannot commit, also if the caller ignores the error.
create function holdfast.guard(_name text, _fence bigint) returns text language plpgsql volatile as $$
declare
  _seen bigint;
begin
  insert into holdfast.guard values (_name, _fence, clock_timestamp())
  on conflict (name) do update set fence = greatest(guard.fence, _fence), touched = clock_timestamp()
  returning fence into _seen;
  if _seen > _fence then
    raise exception using errcode = 'HF001',
      message = format('fence %s of lock ''%s'' is too old: a transaction with fence %s was here', _fence, _name, _seen);
  end if;
  return to_json(txid_current()::text);
end $$;
