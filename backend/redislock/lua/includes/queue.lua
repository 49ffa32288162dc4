-- The queue, and granting a lock to the waiters at its head.
--
-- A queue is a sorted set of "<inbox>:<owner>", scored by ticket. If the waiter does not
-- ask for an exclusive lock, " <share>" follows. Owners contain no spaces.

local function entry_of(owner, share)
  if share == '' then
    return ARGV[1] .. ':' .. owner
  end
  return ARGV[1] .. ':' .. owner .. ' ' .. share
end

-- head returns the first entry of the queue and its parts. It drops the entries of the
-- owner that is leaving, and entries of another form. A queue of another type is empty.
local function head(queue, leaving)
  for _ = 1, 16 do
    local entry = redis.pcall('ZRANGE', queue, 0, 0)[1]
    if not entry then
      return nil
    end
    local inbox, owner, share = string.match(entry, '^([^:]+):(%S+)(.*)$')
    if owner and owner ~= leaving
      and (share == '' or share == ' r' or string.find(share, '^ p%d+$')) then
      return entry, inbox, owner, string.sub(share, 2)
    end
    redis.call('ZREM', queue, entry)
  end
end

-- admits reports whether a request may join the present holders.
local function admits(lock, kind, share)
  if not kind then
    return true
  end
  return kind == string.sub(share, 1, 1)
    and (kind == 'r' or redis.call('ZCARD', lock) < tonumber(string.sub(share, 2)))
end

-- enqueue adds the entry to the queue. If it is already there, it keeps its place.
local function enqueue(queue, entry)
  -- The ticket is the time, but higher than all tickets in the queue: if the clock is set
  -- back, a later waiter must not overtake.
  local ticket = tonumber(time())
  local highest = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
  if highest then
    ticket = math.max(ticket, highest + 1)
  end
  -- NX: a waiter that is in the queue keeps its ticket.
  redis.call('ZADD', queue, 'NX', string.format('%.0f', ticket), entry)
  redis.call('PEXPIRE', queue, QUEUE_TTL)
end

-- grant_next grants the lock to the waiters at the head of the queue that may join the
-- present holders: to one waiter that asks for an exclusive lock, or to readers up to the
-- first other waiter, or to as many waiters as there are free permits. Each gets the time
-- of the claim window, and tokens. It grants to at most sixteen, because the script stops
-- the server; each that claims the lock grants it to further ones.
--
-- It returns the messages for publish, the new kind of the holders, and the tokens of the
-- waiter with the entry own, if it is among them. That waiter is the caller, so it gets no
-- message. A message is "<owner> <claim window> <last token before> <last token>", and publish
-- adds 1 if others wait, else 0.
local function grant_next(lock, queue, kind, leaving, own)
  local claim = ARGV[2]
  local messages, joined, own_tokens = {}, false, nil
  for _ = 1, 16 do
    local entry, inbox, owner, share = head(queue, leaving)
    local before = entry and admits(lock, kind, share) and last_issued()
    if not before then
      break
    end
    -- First a command that Redis does not refuse when it is out of memory.
    redis.call('ZREM', queue, entry)
    local token = issue(before)
    if share == '' then
      redis.call('SET', lock, owner .. ' ' .. token, 'PX', claim)
      kind = 'x'
    else
      add_holder(lock, share, owner, claim)
      kind, joined = string.sub(share, 1, 1), true
    end
    if entry == own then
      own_tokens = { before, token }
    else
      messages[#messages + 1] = { ARGV[3] .. inbox, owner .. ' ' .. claim .. ' ' .. before .. ' ' .. token, true }
    end
    if kind == 'x' then
      break
    end
  end
  if joined then
    expire_with_last(lock)
  end
  return messages, kind, own_tokens
end

-- pass_on grants the lock to waiters after an owner has left, and returns the messages for
-- publish. With a claim window of 0 it leaves a free lock free: the first waiter gets a
-- message without tokens, which tells it to make an attempt.
local function pass_on(lock, queue, kind, leaving)
  if ARGV[2] ~= '0' or kind then
    return (grant_next(lock, queue, kind, leaving))
  end
  local entry, inbox, owner = head(queue, leaving)
  return { entry and { ARGV[3] .. inbox, owner } }
end

-- publish sends the messages about a queue. It comes last in a script: the caller may have
-- queued after the grant. It never fails, because Redis does not roll back what was done:
-- without the right to publish, waiters poll.
local function publish(queue, messages)
  local contended = messages[1] and ' ' .. redis.call('EXISTS', queue)
  for _, m in ipairs(messages) do
    if m[3] then
      m[2] = m[2] .. contended
    end
    redis.pcall('PUBLISH', m[1], m[2])
  end
end
