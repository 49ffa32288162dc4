-- One attempt to take the lock on this node.
--
-- KEYS: 1 the lock, 2 its token, 3 and 4 the graves of the owner and of this
-- attempt, 5 the marker of the node.
--
-- Returns {0, milliseconds left, microseconds that it has been held, its record} if
-- another owner has it, where times are negative if they are not known;
-- or {1, ...} if the lock was taken now, or {2, ...} if this very attempt
-- had it already, with the memory of the node, its time, the tokens that were
-- minted last, and whether that was for this owner.

local owner, attempt, ttl, minting = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'

local current = redis.pcall('GET', KEYS[1])
if type(current) == 'table' and string.sub(current.err, 1, 9) == 'WRONGTYPE' then
  local kind = redis.pcall('TYPE', KEYS[1]) -- which the user may not be allowed to ask
  return redis.error_reply('FOREIGN ' .. (kind.ok or 'value of another type'))
elseif type(current) == 'table' then
  return current
end
local mine = generation(current, owner)
if current and not mine then
  local since = -1
  if minting then
    local _, last, holder = counter(KEYS[2])
    if last and generation(current, holder) then
      since = math.max(micros() - last, 0)
    end
  end
  return { 0, redis.call('PTTL', KEYS[1]), since, string.sub(current, 1, 128) }
end
if not mine and redis.call('EXISTS', KEYS[3], KEYS[4]) > 0 then
  -- This attempt was overtaken on its way by what took it back, and would take
  -- the key for nobody.
  return redis.error_reply('GONE this owner has released the lock')
end

local first, last, holder = 0, 0, '-'
if minting then
  first, last, holder = counter(KEYS[2])
  if not first then
    return last
  end
end

local now = micros()
local age = memory(KEYS[5], now)
local code
if mine and mine >= attempt then
  redis.call('PEXPIRE', KEYS[1], ttl)
  code = 2
else
  -- What an earlier attempt of this owner took is on its way to be released; the
  -- new generation keeps it from that.
  local value = owner
  if attempt > 0 then
    value = string.format('%s %.0f', owner, attempt)
  end
  redis.call('SET', KEYS[1], value, 'PX', ttl)
  code = 1
end
return { code, age, now, first, last, holder == owner and 1 or 0 }
