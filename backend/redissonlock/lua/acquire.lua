-- Makes one attempt to acquire the lock.
--
-- KEYS: the lock, its token counter, its tombstones.
-- ARGV: the owner, the time to live in milliseconds, the number of tokens.
--
-- Returns an array:
--   1, the last of the tokens
--   0, the milliseconds left, for how many microseconds the only holder has it, negative if
--     that is not known, and the fields and values of the lock if it has one holder
--   2, the type of what is at the key if it is not a lock
--   3  the owner has released the lock
--
-- The first write decides: Redis does not roll back, so everything that may be refused is
-- checked before anything is written.

--- @constants
--- @include "includes/lock.lua"
--- @include "includes/time.lua"
--- @include "includes/stranger.lua"

local lock, counter, gone = KEYS[1], KEYS[2], KEYS[3]
local owner, ttl, tokens = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local field = owner .. GO_SUFFIX

local mine = redis.pcall('HEXISTS', lock, field)
local err = failed(mine)
if err and wrong_type(err) then
  local kind = redis.pcall('TYPE', lock) -- the user may not have the right to ask
  return { 2, kind.ok or 'value of another type' }
elseif err then
  return mine
end

if mine == 0 then
  local fields = redis.call('HLEN', lock)
  if fields > 0 then
    local left = redis.call('PTTL', lock)
    if left < 0 then
      return { 2, 'hash' }
    end
    local holders, held = {}, -1
    if fields <= 2 then
      holders = redis.call('HGETALL', lock)
      for i = 1, #holders, 2 do
        if string.sub(holders[i], -#GO_SUFFIX) == GO_SUFFIX then
          held = micros() - (tonumber(redis.pcall('GET', counter) or '') or math.huge)
        end
      end
    end
    return { 0, left, math.max(held, -1), holders }
  end
  local released = redis.pcall('ZSCORE', gone, owner)
  err = failed(released)
  if err then
    return wrong_type(err) and stranger('WRONGTYPE', gone) or released
  elseif released then
    return { 3 }
  end
end

local last = redis.pcall('GET', counter) or '0'
err = failed(last)
if err and not wrong_type(err) then
  return last
elseif err or not string.find(last, '^%d+$') or tonumber(last) > MAX_TOKEN then
  return stranger('BADTOKEN', counter)
end
if mine == 0 then
  -- RLock ignores the mode. RReadWriteLock would take a lock without one.
  redis.call('HSET', lock, 'mode', 'write', field, '1')
  redis.call('PEXPIRE', lock, ttl)
elseif redis.call('PTTL', lock) < ttl then -- a late attempt never shortens the lease
  redis.call('PEXPIRE', lock, ttl)
end
local token = math.max(tonumber(last) + tokens, micros())
redis.call('SET', counter, string.format('%.0f', token))
return { 1, token }
