-- Describes one lock and changes nothing.
--
-- KEYS: the lock, its token counter. ARGV: the number of holders to list at most.
--
-- Returns nil if there is no lock at the key. Otherwise an array: the mode, or "", the
-- milliseconds left, the value of the token counter, or "", the number of holders, and for each
-- holder the field and its value.

--- @constants
--- @include "includes/lock.lua"

local lock, counter = KEYS[1], KEYS[2]

local kind = redis.pcall('HLEN', lock)
local err = failed(kind)
if err and not wrong_type(err) then
  return kind
elseif err or kind == 0 or not is_lock(lock) then
  return nil
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
return { mode, redis.call('PTTL', lock), type(token) == 'string' and token or '', held, holders }
