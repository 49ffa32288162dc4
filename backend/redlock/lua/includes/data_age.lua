--- @include "run_id.lua"
--- @include "stranger.lua"

-- data_age returns for how many microseconds the data of this server is complete, and the
-- run_id. The marker says since when. It is gone if the data is gone, and another process has
-- another run_id. If the clock was set back the age is not known, and starts again. Of a marker of
-- another type it returns nil and an error reply.
local function data_age(marker, now)
  local run = run_id()
  local text = redis.pcall('GET', marker) or ''
  if type(text) == 'table' then
    return nil, string.sub(text.err, 1, 9) == 'WRONGTYPE' and stranger('WRONGTYPE', marker) or text
  end
  local known, since = string.match(text, '^(%S+) (%d+)$')
  if not since or (run and run ~= known) or tonumber(since) > now then
    since = now
    redis.call('SET', marker, string.format('%s %.0f', run or '-', since))
  end
  return now - since, run or ''
end
