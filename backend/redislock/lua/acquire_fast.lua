-- The frequent case of acquire.lua: exclusive locks that are free, without waiters and
-- tombstones. It only saves time: the locks of one call share the expensive commands.

local answers = {}
do
  local KEYS, ARGV, call, pcall = KEYS, ARGV, redis.call, redis.pcall -- locals are faster than globals
  local n = (#KEYS - 1) / 3

  -- issue_fast returns the last token that was issued and a new one, or nil: then the clock
  -- was set back, or something is wrong with it, and the rest of the script sees to that.
  local function issue_fast()
    local t = call('TIME')
    local token = string.format('%016.0f', t[1] * 1000000 + t[2])
    local before = pcall('GETSET', KEYS[#KEYS], token) or string.format('%016.0f', token - 1)
    if type(before) == 'table' then
      return nil
    elseif #before == 16 and before < token and not string.find(before, '%D') then
      return before, token
    end
    call('SET', KEYS[#KEYS], before)
  end

  local busy = call('EXISTS', unpack(KEYS, n + 1, 3 * n)) > 0 -- some lock is
  local free = {}
  local done = 0
  for i = 1, n do
    if ARGV[4 * i + 3] == '' and (ARGV[4 * i + 2] == 'try' or ARGV[4 * i + 2] == 'enqueue')
      and (not busy or call('EXISTS', KEYS[n + i], KEYS[2 * n + i]) == 0) then
      free[#free + 1] = i
    end
  end
  local before, token
  if #free > 0 then
    before, token = issue_fast()
  end
  if before then
    for _, i in ipairs(free) do
      local set = pcall('SET', KEYS[i], ARGV[4 * i] .. ' ' .. token, 'NX', 'PX', ARGV[4 * i + 1])
      if set and set.ok then
        answers[i] = '1 ' .. before .. ' ' .. token .. ' 0'
        done = done + 1
      end
    end
  end
  if done == n then
    return table.concat(answers, '\n')
  end
end
