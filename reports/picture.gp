# reports/pictures/klab.png: a rendered scene beside a ladder. Run by reports/readme.sh --picture, which sets
#   rows     a file of `klab report --csv`, one ladder's lines only, without the header
#   heads    the lines above the ladder;  scene, scene_title   the picture and what it is;  out   the file to write
set terminal pngcairo noenhanced size 1000,340 font "DejaVu Sans,11" background rgb "#ffffff"
set output out
set datafile separator comma
set multiplot

# The scene, with its own proportions.
set lmargin at screen 0.005; set rmargin at screen 0.315; set bmargin at screen 0.055; set tmargin at screen 0.915
unset border; unset tics; unset key; unset colorbox
set size ratio -1
set title scene_title offset 0,-0.6
plot scene binary filetype=png with rgbimage

# The ladder: rate of each rung with its interval, its speedup over the first rung, and the ceiling.
set size noratio
set lmargin at screen 0.495; set rmargin at screen 0.975; set bmargin at screen 0.17; set tmargin at screen 0.86
set title heads offset 0,0.1
stats rows using 11 nooutput
n = STATS_records
stats rows using ($11 / $13) every ::(n - 1) nooutput
ceiling = STATS_max
rung(id) = substr(id, strstrt(id, ".cpu.") + 5, strlen(id))
library(id) = rung(id)[1:1] eq "9"
set border 3 lc rgb "#888888"
set xrange [0:1.12 * ceiling]; set yrange [n - 0.4:-0.6]
set xtics nomirror tc rgb "#333333"; set ytics nomirror scale 0 tc rgb "#111111"
set grid xtics lc rgb "#e4e4e4"
set xlabel "GB/s" offset 0,0.5
set arrow from ceiling, graph 0 to ceiling, graph 1 nohead dt 2 lw 2 lc rgb "#cc4444"
set label "ceiling" at ceiling, graph 1.03 center tc rgb "#cc4444" font ",10"
set style fill solid 1.0 noborder
plot rows using (0):0:(0):11:($0 - 0.36):($0 + 0.36):(library(stringcolumn(3)) ? 0x9aa0a6 : 0x4f8bd6):ytic(rung(stringcolumn(3))) \
       with boxxyerror lc rgb variable, \
     rows using 11:0:($11 * $8 / $10):($11 * $8 / $9) with xerrorbars pt -1 lw 1.4 lc rgb "#111111", \
     rows using ($11 * $8 / $9 + 0.012 * ceiling):0:(valid(15) ? sprintf("%.3g×", $15) : "") with labels left font ",10" tc rgb "#333333"
unset multiplot
