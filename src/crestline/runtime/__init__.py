"""What both engines share: a plan over batches, from named columns to result rows."""

from crestline.core.arrow import put_off_pandas

put_off_pandas()  # before any module makes an array
