--- @include "stranger.lua"

-- The counter is "<first> <last> <holder> <released>": the tokens first..last were minted
-- for holder; released is the owner of the last release that took effect, or "-". counter
-- returns the four, or nil and an error reply if it cannot be read: a new counter could
-- mint a lower token. From 2^53 on two integers may be the same double.
local function counter(key)
  local text = redis.pcall('GET', key)
  if not text then
    return 0, 0, '-', '-'
  elseif type(text) == 'table' then
    return nil, string.sub(text.err, 1, 9) == 'WRONGTYPE' and stranger('BADTOKEN', key) or text
  end
  local first, last, holder, released = string.match(text, '^(%d+) (%d+) (%S+) (%S+)$')
  first, last = tonumber(first or ''), tonumber(last or '')
  if not (first and last and first <= last and last < 9007199254740991) then
    return nil, stranger('BADTOKEN', key)
  end
  return first, last, holder, released
end
