-- Issuing tokens, and queueing. Follows after lib.lua.

-- mint issues new tokens to the owner, and returns the first and the last.
local function mint(key, last, tokens, owner, released, tombstones)
  local first
  local now = time()
  if last == 0 then
    -- The counter is new or was lost. Tokens below now may have been issued.
    first, last = now, now
  else
    -- A range ends at now. If it began there, tokens would get ahead of the clock, and
    -- later ones could be lower if the counter is lost.
    first = math.max(last + 1, now - tokens + 1)
    last = math.max(first, math.min(now, first + tokens - 1))
  end
  if tombstones ~= '' and now - string.match(tombstones, '%d+') > RETENTION * 1000 then
    tombstones = ''
  end
  store(key, first, last, owner, released, tombstones)
  return first, last
end

local function granted_line(first, last, queue)
  return string.format('1 %.0f %.0f %d', first, last, redis.call('EXISTS', queue))
end

-- enqueue adds the entry to the queue. If it is already there, it keeps its place.
local function enqueue(queue, entry)
  -- The ticket is the time, but higher than all tickets in the queue: if the clock is set
  -- back, a later waiter must not overtake.
  local ticket = time()
  local highest = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
  if highest then
    ticket = math.max(ticket, highest + 1)
  end
  -- NX: a waiter that is in the queue keeps its ticket.
  redis.call('ZADD', queue, 'NX', string.format('%.0f', ticket), entry)
  redis.call('PEXPIRE', queue, QUEUE_TTL)
end
