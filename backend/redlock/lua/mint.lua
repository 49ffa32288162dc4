-- Stores the tokens of a grant before it is given out.
--
-- KEYS: 1 the lock, 2 its tokens. ARGV: 1 the owner, 2 and 3 the first and the last token.
-- Returns 1 if the owner has the lock here: a later acquisition here then reads a token
-- that is not lower. Returns 0 if not.

--- @constants
--- @include "includes/generation_of.lua"
--- @include "includes/counter.lua"
--- @include "includes/store.lua"

local owner, first, last = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local current = redis.pcall('GET', KEYS[1])
if type(current) == 'table' then
  return current
elseif not generation_of(current, owner) then
  return 0
end
local before, highest, _, released = counter(KEYS[2])
if not before then
  return highest
end
if highest <= last then
  store(KEYS[2], first, last, owner, released)
end
return 1
