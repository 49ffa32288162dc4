-- A script as a backend has them.
--
-- KEYS: 1 the lock. ARGV: 1 the owner.

--- @constants

if redis.call('GET', KEYS[1]) == ARGV[1] then
  -- The frequent case returns before the functions are defined.
  return WINDOW -- a number
end

--- @include "includes/name.lua"
--- @include "includes/text.lua"

return name(KEYS[1]) .. text(SUFFIX)
