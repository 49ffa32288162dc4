-- One attempt to take the lock.
--
-- Returns {1, first token, last token} or {0, milliseconds left}, where the
-- time left is negative if it is not known.

local owner, inbox, queueing = ARGV[1], ARGV[2], ARGV[3] == '1'
local ttl, want, claim, prefix = ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local current = redis.pcall('GET', KEYS[1])
if current and current ~= owner then
  if type(current) == 'table' then
    return current -- a foreign type: nothing of ours
  elseif not queueing then
    return { 0, redis.call('PTTL', KEYS[1]) }
  end
end

local first, last, holder, released, buried = fence()
if not first then
  return last
end

local channel, granted
if current == owner and redis.call('PEXPIRE', KEYS[1], ttl) == 1 then
  -- A repeat of what was granted, or the claim of what a release passed on.
  redis.call('ZREM', KEYS[3], inbox .. ':' .. owner)
  granted = owner
else
  -- The owner has released: this attempt was overtaken on its way, and what it
  -- took would be left to nobody.
  if released == owner
    or (buried ~= '' and string.find(buried .. ' ', ' ' .. owner .. ' ', 1, true)) then
    return redis.error_reply('GONE this owner has released the lock')
  end
  if not current or current == owner then
    local head = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not head or head == inbox .. ':' .. owner then
      redis.call('SET', KEYS[1], owner, 'PX', ttl)
      if head then
        redis.call('ZREM', KEYS[3], head)
      end
      granted = owner
    else
      -- Free, but others came first, and the message that should have woken
      -- their first was lost or its holder died: help it.
      channel, granted = grant(claim, prefix, owner)
    end
  end
end

if granted == owner then
  -- A repeat has its tokens already.
  if holder ~= owner then
    local now = micros()
    if last == 0 then
      -- The counter is new or was lost. Tokens below now may be taken.
      first, last = now, now
    else
      -- A block ends at now: one that began there would outrun the clock, and
      -- go backwards after the counter is lost.
      first = math.max(last + 1, now - want + 1)
      last = math.max(first, math.min(now, first + want - 1))
    end
    if buried ~= '' and now - string.match(buried, '%d+') > RETENTION * 1000 then
      buried = ''
    end
    store(first, last, owner, released, buried)
  end
  return { 1, first, last }
end

if queueing then
  -- The ticket is the time, but never below one that was given out: a clock
  -- that was set back must not let newcomers pass.
  local ticket = micros()
  local highest = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
  if highest then
    ticket = math.max(ticket, highest + 1)
  end
  -- NX: whoever comes again keeps its ticket.
  redis.call('ZADD', KEYS[3], 'NX', string.format('%.0f', ticket), inbox .. ':' .. owner)
  redis.call('PEXPIRE', KEYS[3], QUEUE_TTL)
end

local left = redis.call('PTTL', KEYS[1])
if granted then
  redis.call('PUBLISH', channel, granted)
end
return { 0, left }
