-- One attempt to acquire the lock on this node.
--
-- KEYS: 1 the lock, 2 its tokens, 3 and 4 the tombstones of the owner and of this
-- generation, 5 the marker of the node.
-- ARGV: 1 the owner, 2 the generation, 3 the time to live in milliseconds, 4 is "1" if
-- locks have tokens.
--
-- Returns {0, milliseconds left, microseconds held, value} if another owner has the lock; a
-- negative time is not known. Returns {1, ...} if the lock was acquired now, or {2, ...} if
-- a generation of this owner had it already, followed by the age of the data, the time
-- of the node, the first and the last of the tokens that were minted last, whether they
-- were minted for this owner, and the run_id of the server, "" if it is not known.

--- @include "includes/micros.lua"
--- @include "includes/generation_of.lua"
--- @include "includes/data_age.lua"
--- @include "includes/counter.lua"

local owner, generation, ttl, minting = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'

local current = redis.pcall('GET', KEYS[1])
if type(current) == 'table' and string.sub(current.err, 1, 9) == 'WRONGTYPE' then
  local kind = redis.pcall('TYPE', KEYS[1]) -- the user may not have the right to ask
  return redis.error_reply('FOREIGN ' .. (kind.ok or 'value of another type'))
elseif type(current) == 'table' then
  return current
end
local mine = generation_of(current, owner)
if current and not mine then
  local since = -1
  if minting then
    local _, last, holder = counter(KEYS[2])
    if last and generation_of(current, holder) then
      since = math.max(micros() - last, 0)
    end
  end
  return { 0, redis.call('PTTL', KEYS[1]), since, string.sub(current, 1, 128) }
end
if not mine and redis.call('EXISTS', KEYS[3], KEYS[4]) > 0 then
  -- The release of this attempt came first. The attempt would block the key without an owner.
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
local age, run = data_age(KEYS[5], now)
if not age then
  return run
end
if mine then
  ttl = math.max(ttl, redis.call('PTTL', KEYS[1])) -- a late attempt never shortens the lease
end
if mine and mine >= generation then
  redis.call('PEXPIRE', KEYS[1], ttl)
else
  -- The release of an earlier generation of this owner may be in flight. It leaves the new
  -- generation alone.
  redis.call('SET', KEYS[1], string.format('%s %.0f', owner, generation), 'PX', ttl)
end
return { mine and 2 or 1, age, now, first, last, holder == owner and 1 or 0, run }
