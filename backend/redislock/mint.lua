-- What acquire.lua and share.lua have in common: behind pass.lua.

-- mint records new tokens for the owner.
local function mint(key, last, want, owner, released, buried)
  local first
  local now = time()
  if last == 0 then
    -- The counter is new or was lost. Tokens below now may be taken.
    first, last = now, now
  else
    -- A block ends at now: one that began there would outrun the clock, and go
    -- backwards after the counter is lost.
    first = math.max(last + 1, now - want + 1)
    last = math.max(first, math.min(now, first + want - 1))
  end
  if buried ~= '' and now - string.match(buried, '%d+') > RETENTION * 1000 then
    buried = ''
  end
  store(key, first, last, owner, released, buried)
  return first, last
end

local function granted_line(first, last, queue)
  return string.format('1 %.0f %.0f %d', first, last, redis.call('EXISTS', queue))
end

-- enqueue gives the entry a place in the queue, or keeps the one that it has alive.
local function enqueue(queue, entry)
  -- The ticket is the time, but never below one that was given out: a clock that
  -- was set back must not let newcomers pass.
  local ticket = time()
  local highest = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
  if highest then
    ticket = math.max(ticket, highest + 1)
  end
  -- NX: whoever comes again keeps its ticket.
  redis.call('ZADD', queue, 'NX', string.format('%.0f', ticket), entry)
  redis.call('PEXPIRE', queue, QUEUE_TTL)
end
