-- The frequent case of acquire.lua: exclusive locks that are free, without waiters and
-- tombstones. It only saves time. The locks share the expensive commands.

local answers = {}
do
  local KEYS, ARGV, call = KEYS, ARGV, redis.call -- locals are faster than globals
  local n = (#KEYS - 1) / 3
  local plain = true
  for i = 1, n do
    plain = plain and ARGV[4 * i + 3] == '' and ARGV[4 * i + 2] ~= 'extend'
  end
  if plain and call('EXISTS', unpack(KEYS, n + 2)) == 0 then
    local t = call('TIME')
    local token = t[1] .. string.sub('00000' .. t[2], -6)
    -- pcall: the rest of the script reports what is wrong with the clock.
    local before = redis.pcall('GETSET', KEYS[1], token) or '0000000000000000'
    if type(before) == 'table' then -- luacheck: ignore
    elseif #before == 16 and before < token then
      local granted, stamp = '1 ' .. before .. ' ' .. token .. ' 0', ' ' .. token
      for i = 1, n do
        local set = redis.pcall('SET', KEYS[i + 1], ARGV[4 * i] .. stamp, 'NX', 'PX', ARGV[4 * i + 1])
        if set and set.ok then
          answers[i] = granted
        end
      end
    else
      call('SET', KEYS[1], before) -- the clock was set back, or this is not a token
    end
  end
  if #answers == n then
    return table.concat(answers, '\n')
  end
end
