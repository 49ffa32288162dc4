-- Describes one lock and changes nothing.
--
-- KEYS: the lock, its token counter. ARGV: the number of holders to list at most, 1 if anything
-- else at the key is described, too.
--
-- Returns nil if there is no lock at the key. Otherwise an array: the number of holders, the
-- milliseconds left, the value of the token counter, or 0, the mode, or "", and the fields of the
-- holders with their values. For anything else its type is last.

--- @constants
--- @include "includes/lock.lua"

local lock, counter = KEYS[1], KEYS[2]

local kind = redis.pcall('HLEN', lock)
local err = failed(kind)
if err and not wrong_type(err) then
  return kind
elseif kind == 0 then
  return nil
elseif err or not is_lock(lock) then
  if ARGV[2] ~= '1' then
    return nil
  end
  return { 1, redis.call('PTTL', lock), 0, '', redis.pcall('TYPE', lock).ok or 'unknown' }
end
local mode, holders, held = '', {}, 0
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
  if fields[i] == 'mode' then
    mode = fields[i + 1]
  else
    held = held + 1
    if held <= tonumber(ARGV[1]) then
      holders[#holders + 1] = fields[i]
      holders[#holders + 1] = fields[i + 1]
    end
  end
end
local token = redis.pcall('GET', counter)
token = type(token) == 'string' and string.find(token, '^%d+$') and tonumber(token) or 0
return { held, redis.call('PTTL', lock), token <= MAX_TOKEN and token or 0, mode, holders }
